// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAPreparedCommitLandsLater(t *testing.T) {
	g := NewWithT(t)
	r, err := (&ArgoCD{dir: t.TempDir()}).NewRepository("x")
	g.Expect(err).NotTo(HaveOccurred())
	is := func(ref, path, content string) {
		text, err := r.git("", "show", ref+":"+path)
		g.ExpectWithOffset(1, err).NotTo(HaveOccurred())
		g.ExpectWithOffset(1, text).To(Equal(content))
	}
	first, err := r.Commit(Main, map[string]string{"app/a.yaml": "version: 1\n", "app/b.yaml": "b: 1\n"})
	g.Expect(err).NotTo(HaveOccurred())
	next, err := r.Prepare(Main, map[string]string{"app/a.yaml": "version: 2\n", "app/b.yaml": ""})
	g.Expect(err).NotTo(HaveOccurred())
	is(Main, "app/a.yaml", "version: 1")
	g.Expect(r.Land(Main, next)).To(Succeed())
	is(Main, "app/a.yaml", "version: 2")
	g.Expect(r.git("", "ls-tree", "--name-only", Main, "app/")).To(Equal("app/a.yaml"))
	g.Expect(r.git("", "rev-parse", Main+"^")).To(Equal(first))

	g.Expect(r.Tag("dev", first)).To(Succeed())
	g.Expect(r.Tag("dev", next)).To(Succeed())
	g.Expect(r.git("", "rev-parse", "refs/tags/dev")).To(Equal(next))
	_, err = r.Commit("other", map[string]string{"c.yaml": "c: 1\n"})
	g.Expect(err).NotTo(HaveOccurred())
	is("other", "c.yaml", "c: 1")
}
