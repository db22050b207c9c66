// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestCommits has an address for each commit of a host that shows commits.
func TestCommits(t *testing.T) {
	const c = "0123456789abcdef0123456789abcdef01234567"
	for repo, want := range map[string]string{
		"https://github.com/acme/shop.git":                  "https://github.com/acme/shop/commit/",
		"https://jane:secret@github.com/acme/shop":          "https://github.com/acme/shop/commit/",
		"git@github.com:acme/shop.git":                      "https://github.com/acme/shop/commit/",
		"ssh://git@github.com:22/acme/shop.git":             "https://github.com/acme/shop/commit/",
		"https://gitlab.example.com:8443/a/b/shop.git":      "https://gitlab.example.com:8443/a/b/shop/-/commit/",
		"git@gitlab.com:a/b/shop.git":                       "https://gitlab.com/a/b/shop/-/commit/",
		"git@bitbucket.org:acme/shop.git":                   "https://bitbucket.org/acme/shop/commits/",
		"https://acme@dev.azure.com/acme/web/_git/shop":     "https://dev.azure.com/acme/web/_git/shop/commit/",
		"git@ssh.dev.azure.com:v3/acme/web/shop":            "https://dev.azure.com/acme/web/_git/shop/commit/",
		"https://codeberg.org/acme/shop":                    "https://codeberg.org/acme/shop/commit/",
		"https://gitea.example.com/acme/shop.git":           "https://gitea.example.com/acme/shop/commit/",
		"https://git.example.com/acme/shop.git":             "",
		"oci://github.com/acme/shop":                        "",
		"javascript:alert(1)//github.com":                   "",
		"/srv/git/shop":                                     "",
		"":                                                  "",
		"https://github.com/acme/%zz":                       "",
		"https://git.example.com/github.com/acme/shop.git#": "",
	} {
		t.Run(repo, func(t *testing.T) {
			g := NewWithT(t)
			r := &Rollout{sources: []policy.Source{{Key: argocd.SourceKey(argo.ApplicationSource{RepoURL: repo}), Revision: c}}}
			if want != "" {
				want += c
			}
			g.Expect(r.Commits()[c]).To(Equal(want))
		})
	}
	g := NewWithT(t)
	chart := argocd.SourceKey(argo.ApplicationSource{RepoURL: "https://github.com/acme/charts", Chart: "shop"})
	g.Expect((&Rollout{sources: []policy.Source{{Key: chart, Revision: c}}}).Commits()).To(BeEmpty())
	plain := argocd.SourceKey(argo.ApplicationSource{RepoURL: "https://github.com/acme/shop"})
	g.Expect((&Rollout{sources: []policy.Source{{Key: plain, Revision: "v1.2.3"}}}).Commits()).To(BeEmpty())
}
