// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stepgate/stepgate/webhook/evidence"
)

func TestVerifyFlagsThatAreWrong(t *testing.T) {
	for args, want := range map[string]string{
		"--verify-kinds jobs":                   `--verify-kinds: "jobs" is not RESOURCE.VERSION.GROUP`,
		"--verify-kinds jobs.batch":             `--verify-kinds: "jobs.batch" is not RESOURCE.VERSION.GROUP`,
		"--verify-kinds Jobs.v1.batch":          `--verify-kinds: "Jobs.v1.batch" is not RESOURCE.VERSION.GROUP`,
		"--verify-kinds secrets.v1":             "--verify-kinds: secrets.v1 hold secrets",
		"--verify-kinds secrets.v1.example.com": "--verify-kinds: secrets.v1.example.com hold secrets",
		"--verify-namespaces A":                 `--verify-namespaces: "A" is not the name of a namespace`,
		"--verify-create":                       "--verify-create needs analysisruns.argoproj.io among --verify-kinds",
		"--verify-create --release=false --verify-kinds analysisruns.v1alpha1.argoproj.io": "--verify-create needs --release",
	} {
		NewWithT(t).Expect(parsed(t, args).Validate()).To(MatchError(ContainSubstring(want)), args)
	}
}

func TestVerifyFlags(t *testing.T) {
	g := NewWithT(t)
	o := parsed(t, "--verify-kinds analysisruns.v1alpha1.argoproj.io,pods.v1 --verify-create"+
		" --verify-namespaces tests,argocd")
	g.Expect(o.Validate()).To(Succeed())
	g.Expect(o.Verify.Kinds()).To(Equal(evidence.Kinds{
		schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "analysisruns"},
		schema.GroupVersionResource{Version: "v1", Resource: "pods"},
	}))
	g.Expect(o.Verify.Watched([]string{"argocd"})).To(Equal([]string{"argocd", "tests"}))
	g.Expect(o.Verify.Watched([]string{""})).To(Equal([]string{""}))
}
