// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// parent creates platform in a namespace of its own, with children in three waves: crds is on its way, nobody has created
// mesh of wave 10 yet, and shop of wave 20 waits.
func parent(t *testing.T, namespace string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(shared.CreateNamespace(t.Context(), namespace)).To(Succeed())
	made := nowIs(scenario.Waves("-5:crds=Progressing@b 10:dns=Healthy@b 20:shop=Healthy@b"), time.Now())
	dns, shop, platform := made.Apps[1], made.Apps[2], made.Apps[3]
	for _, app := range []*argo.Application{dns, shop} {
		app.Status.Sync.Status = "OutOfSync"
		app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
	}
	platform.Annotations[settings.SoakAnnotation] = "20=1h"
	platform.Status.Resources = []argo.ResourceStatus{{
		Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: namespace, Name: "mesh", Status: "OutOfSync",
		SyncWave: 10,
	}}
	for _, app := range made.Apps {
		app.Namespace, app.UID = namespace, ""
		if app != platform {
			app.Annotations[common.AnnotationKeyAppInstance] = "platform:argoproj.io/Application:" + namespace + "/" + app.Name
		}
		g.Expect(shared.Admin.Create(t.Context(), app)).To(Succeed())
	}
	o := installed.Options{Args: []string{"--shutdown-delay=0s", "--spec-settling=0", "--waves"}, Waves: true}
	o.Name, o.Namespaces = "stepgate-"+namespace, []string{namespace}
	replica, err := installed.StartOne(t.Context(), shared, o)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(replica.Kill)
	g.Expect(replica.WaitReady(t.Context())).To(Succeed())
}

// TestAParent is shown by its own name, and its waves by their numbers, wherever somebody looks.
func TestAParent(t *testing.T) {
	parent(t, "parent")
	b := serve(t, "parent", cluster.Human)
	plain := func() {
		b.t.Helper()
		text := b.Text("body")
		b.Expect(text).NotTo(Or(ContainSubstring("waves/platform"), ContainSubstring("671088"),
			ContainSubstring("ApplicationSet controller"), ContainSubstring("ApplicationSet platform")))
		b.wellFormed()
		var overlap bool
		b.Evaluate(`[...document.querySelectorAll("tbody td")].some((td) => td.scrollWidth > td.clientWidth + 1)`, &overlap)
		b.Expect(overlap).To(BeFalse(), "a cell has more than fits")
	}
	for _, tab := range []browser.Tab{desk, {Width: 390, Height: 844, Dark: true}} {
		b.open(tab, "")
		b.Sees("tbody tr")
		b.Expect(b.Text("tbody tr")).To(And(ContainSubstring("platform"), ContainSubstring("wave -5 (1/3)"),
			ContainSubstring("mesh (NotGenerated: it does not exist yet, and its parent has no automated sync) (+1 more)")))
		plain()
		b.Click("tbody a")
		b.Sees("h1:has-text('platform')")
		b.Sees("[data-tile='shop']")
		text := strings.Join(strings.Fields(b.Text("main")), " ")
		b.Expect(text).To(And(ContainSubstring("Wave -5"), ContainSubstring("Wave 10"), ContainSubstring("Wave 20")))
		b.Expect(text).To(ContainSubstring("sync its parent, which creates mesh: argocd app sync platform"))
		plain()
		b.Click("[data-tile='shop']")
		b.Sees("[role=dialog] >> text=is held now")
		b.Expect(b.Text("[role=dialog]")).To(ContainSubstring("crds (NotHealthy: Progressing)"))
		plain()
		b.Press("Escape")
	}
	b.Click("button:text-is('Pause wave 10…')")
	b.Sees("[role=dialog] >> text=Pause wave 10 of platform")
	b.Fill("[role=dialog] input", "INC-1234")
	b.Press("Enter")
	b.Sees("[role=dialog] >> text=This would happen")
	b.Click("[role=dialog] button:text-is('Pause')")
	b.Sees("[role=dialog] >> text=Done")
	b.Expect(b.Text("[role=dialog] pre")).To(ContainSubstring("parent/platform: wave 10 is paused."))
	b.Expect(b.Complaints()).To(BeEmpty())
	platform := &argo.Application{}
	name := types.NamespacedName{Namespace: "parent", Name: "platform"}
	b.Expect(shared.Admin.Get(t.Context(), name, platform)).To(Succeed())
	b.Expect(platform.Annotations).To(HaveKeyWithValue(settings.PauseAnnotation, "10: INC-1234"))
}
