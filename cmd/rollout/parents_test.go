// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
)

// family is the scene of byWaves with a parent, argocd/platform, in place of the ApplicationSet. Its Applications are the
// last ones, and those of fleet are of the ApplicationSet fleet, which is a child of wave 5.
func family(text string) (*argo.ApplicationSet, []*argo.Application) {
	fleet, apps := byWaves(text, nil)
	fleet.Name, fleet.UID = "fleet", "fleet"
	fleet.Annotations = map[string]string{
		"argocd.argoproj.io/tracking-id": "platform:argoproj.io/ApplicationSet:argocd/fleet", "argocd.argoproj.io/sync-wave": "5",
	}
	for _, app := range apps {
		if app.Labels["env"] == "qa" {
			app.OwnerReferences[0].Name, app.OwnerReferences[0].UID = "fleet", "fleet"
			continue
		}
		app.OwnerReferences = nil
		app.Annotations["argocd.argoproj.io/tracking-id"] = "platform:argoproj.io/Application:argocd/" + app.Name
	}
	parent := apps[0].DeepCopy()
	parent.Name, parent.UID, parent.Labels = "platform", "platform", nil
	parent.Annotations = map[string]string{"stepgate.io/waves": "true"}
	return fleet, append(apps, parent)
}

func withWaves(known *rollout.Snapshot) *webhook.Preview {
	on := config
	on.Waves = true
	return webhook.NewPreview(on, knownBy(known), nil)
}

func parentRollout(g Gomega, known *rollout.Snapshot) *rollout.Rollout {
	set, _ := known.Set(types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")})
	g.Expect(set).NotTo(BeNil())
	return rollout.Judge(withWaves(known).Outlook(set))
}

// TestAParentIsShown with what it has yet to create, also in a wave in which nothing is yet. What it has yet to change is
// no belief of the ApplicationSet controller.
func TestAParentIsShown(t *testing.T) {
	g := NewWithT(t)
	fleet, apps := family(wavesDegraded)
	parent := apps[len(apps)-1]
	resource := func(name string, wave int64) argo.ResourceStatus {
		return argo.ResourceStatus{
			Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: name, SyncWave: wave, Status: "OutOfSync",
		}
	}
	addons := resource("addons", 9)
	addons.Kind = "ApplicationSet"
	parent.Status.Resources = []argo.ResourceStatus{resource("new", 7), resource("guestbook-dev", 3), addons}
	known := rollout.NewSnapshot()
	known.Add(fleet, apps...)
	r := parentRollout(g, known)
	var names []string
	for i := range r.Steps {
		names = append(names, r.Steps[i].Name())
		for _, a := range r.Steps[i].Applications {
			g.Expect(a.Believed).To(BeNil(), a.Name)
			g.Expect(a.Differs).To(BeEmpty(), a.Name)
		}
	}
	g.Expect(names).To(Equal([]string{"wave -1", "wave 5", "wave 7", "wave 9", "wave 20"}))
	g.Expect(r.Steps[1].Applications).To(HaveLen(2), "those of the child that is an ApplicationSet")
	g.Expect(r.Steps[2].Applications[0].Name).To(Equal("new"))
	text := strings.Join(r.Tree(screen.Screen{Width: 100}, now, true), "\n")
	g.Expect(text).To(ContainSubstring("Parent          argocd/platform"))
	g.Expect(text).To(ContainSubstring("new (NotGenerated: it does not exist yet)"))
	g.Expect(text).To(ContainSubstring("applicationset:addons        NotGenerated: it does not exist yet"))
	g.Expect(text).NotTo(ContainSubstring("67108"))
}

// TestExplainGoesByWhatOrdersIt: the parent of its ApplicationSet, or nothing where the parent gives no order.
func TestExplainGoesByWhatOrdersIt(t *testing.T) {
	for name, tc := range map[string]struct {
		app   string
		edit  func(parent, app *argo.Application)
		order string
		want  string
	}{
		"a child":                   {app: "guestbook-prod-1", order: "argocd/waves/platform", want: "NotHealthy"},
		"of a child ApplicationSet": {app: "guestbook-qa-us", order: "argocd/waves/platform", want: "SelfHeal"},
		"the parent gives no order": {
			app: "guestbook-prod-1", want: "NotManaged",
			edit: func(parent, _ *argo.Application) { parent.Annotations = nil },
		},
		"it gives none, and the child comes after another one": {
			app: "guestbook-prod-1", want: "DependencyNotDone",
			edit: func(parent, app *argo.Application) {
				parent.Annotations = nil
				app.Annotations["stepgate.io/after"] = "guestbook-qa-eu"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			fleet, apps := family(wavesDegraded)
			var app *argo.Application
			for _, a := range apps {
				if a.Name == tc.app {
					app = a
				}
			}
			if tc.edit != nil {
				tc.edit(apps[len(apps)-1], app)
			}
			known := rollout.NewSnapshot()
			known.Add(fleet, apps...)
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
			g.Expect(err).NotTo(HaveOccurred())
			on := config
			on.Waves = true
			x, err := rollout.Explain(t.Context(), withWaves(known), known, rollout.Question{
				Live: &unstructured.Unstructured{Object: object}, App: app, Config: on,
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(x.ApplicationSet).To(Equal(tc.order))
			g.Expect(x.Reason).To(Equal(tc.want))
			if tc.want == "DependencyNotDone" {
				g.Expect(x.Needs).NotTo(BeEmpty(), "what it waits for in the end")
			}
		})
	}
}
