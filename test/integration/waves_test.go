// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestWhoeverWritesTrackingIsTold what does not exist, which parent counts, and which wave is none. What is right brings
// no warning.
func TestWhoeverWritesTrackingIsTold(t *testing.T) {
	r := newRolloutWith(t, installed.Options{Waves: true, Args: []string{"--waves"}})
	r.lone("platform", map[string]string{settings.WavesAnnotation: "true"})
	app := r.lone("base", nil)
	heard := &warnings{}
	admin, err := shared.ClientWithWarnings(cluster.Human, heard)
	r.Expect(err).NotTo(HaveOccurred())
	write := func(parent, wave, label string) []string {
		heard.all = nil
		before := app.DeepCopy()
		app.Annotations = map[string]string{
			"argocd.argoproj.io/tracking-id": parent + ":argoproj.io/Application:" + app.Namespace + "/base",
			"argocd.argoproj.io/sync-wave":   wave,
		}
		app.Labels = map[string]string{"app.kubernetes.io/instance": label}
		r.Expect(admin.Patch(r.ctx, app, client.MergeFrom(before))).To(Succeed())
		return heard.all
	}
	own := app.Namespace + "_"
	times := 0
	r.Eventually(func() []string { // the gate has to have seen platform, and looks only at what changes
		times++
		return write(fmt.Sprintf("%snobody-%d", own, times), "1", own+"platform")
	}).Should(ConsistOf(
		MatchRegexp("is of Application "+app.Namespace+"/nobody-[0-9]+, which does not exist: nobody orders this one"),
		ContainSubstring("and the label app.kubernetes.io/instance of "+app.Namespace+"/platform, which has waves"),
	))
	r.Expect(write(own+"platform", "ten", "base")).To(ConsistOf(ContainSubstring("no number, and Argo CD counts it as 0")))
	r.Expect(write(own+"platform", "10", "base")).To(BeEmpty())
}
