// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/webhook"
)

// infra is an ApplicationSet in the state of a scene, by another name.
func infra(text string) (*argo.ApplicationSet, []*argo.Application) {
	set, apps := scene(text)
	set.Name, set.UID = "infra", "infra"
	for i := range set.Status.ApplicationStatus {
		recorded := &set.Status.ApplicationStatus[i]
		recorded.Application = strings.Replace(recorded.Application, "guestbook", "infra", 1)
	}
	for _, app := range apps {
		app.Name, app.UID = strings.Replace(app.Name, "guestbook", "infra", 1), "infra-"+app.UID
		app.OwnerReferences[0].Name, app.OwnerReferences[0].UID = "infra", "infra"
	}
	return set, apps
}

// An ApplicationSet that comes after others shows each with its state, with steps and without.
func TestGetShowsWhatItComesAfter(t *testing.T) {
	const waits = "1:dev=Healthy/OutOfSync@new:Pending@new 2:qa-eu=Healthy/OutOfSync@new:Waiting@new"
	for name, tc := range map[string]struct {
		before, after string
		steps         bool
	}{
		"steps":    {"1:net=Degraded/Synced@new 2:dns=Healthy/Synced@new", "infra, nowhere", true},
		"no-steps": {"1:net=Degraded/Synced@new 2:dns=Healthy/Synced@new", "infra", false},
		"done":     {"1:net=Healthy/Synced@new 2:dns=Healthy/Synced@new", "infra", true},
		"orphan":   {"1:net=Degraded/Synced@new", "infra", true},
		"circle":   {"1:net=Degraded/Synced@new", "guestbook", true},
	} {
		t.Run(name, func(t *testing.T) {
			known := rollout.NewSnapshot()
			before, its := infra(tc.before)
			if keeps := argo.ApplicationsSyncPolicyCreateUpdate; name == "orphan" {
				before.Spec.SyncPolicy = &argo.ApplicationSetSyncPolicy{ApplicationsSync: &keeps}
			}
			known.Add(before, its...)
			set, apps := scene(waits)
			set.Annotations = map[string]string{"stepgate.io/after": tc.after}
			if !tc.steps {
				set.Spec.Strategy = nil
			}
			known.Add(set, apps...)
			r := rollout.Judge(preview(known).Outlook(known.Sets()[0]))
			NewWithT(t).Expect(r.Name).To(Equal("guestbook"))
			lines := r.Tree(screen.Screen{Width: 80}, now, true)
			expectFits(t, screen.Screen{Width: 80}, lines)
			golden.Expect(t, "get-after-"+name+"-80.golden", strings.Join(lines, "\n")+"\n"+"waiting for: "+r.WaitingFor()+"\n")
		})
	}
}

// Tracks are shown with each Application.
// An Application of no ApplicationSet that comes after others is a rollout of its own; one that comes after nothing is none.
func TestGetShowsApplicationsAlone(t *testing.T) {
	g := NewWithT(t)
	known := rollout.NewSnapshot()
	before, its := infra("1:net=Degraded/Synced@new")
	known.Add(before, its...)
	plain, apps := scene("1:mail=Healthy/OutOfSync@new 1:solo=Healthy/OutOfSync@new")
	for _, app := range apps {
		app.OwnerReferences = nil
	}
	apps[0].Annotations = map[string]string{"stepgate.io/after": "infra"}
	plain.Name, plain.UID, plain.Spec.Strategy = "plain", "plain", nil
	known.Add(plain, apps...)
	list := rollout.List{Items: rollout.Every(everywhere(preview(known)), known, false)}
	lines := list.Lines(screen.Screen{Width: 80}, now, true, false)
	expectFits(t, screen.Screen{Width: 80}, lines)
	golden.Expect(t, "get-alone-80.golden", strings.Join(lines, "\n")+"\n")
	g.Expect(rollout.Every(everywhere(preview(known)), known, true)).To(HaveLen(3))
}

func TestGetShowsTracks(t *testing.T) {
	set, apps := scene("1:dev-a=Healthy/Synced@new 1:dev-b=Degraded/Synced@new 2:qa-a=Healthy/OutOfSync@new:Pending@new " +
		"2:qa-b=Healthy/OutOfSync@new:Waiting@new 2:qa-all=Healthy/OutOfSync@new:Waiting@new")
	set.Annotations = map[string]string{"stepgate.io/track": "example.com/app"}
	for _, app := range apps {
		if track := app.Name[strings.LastIndex(app.Name, "-")+1:]; track != "all" {
			app.Labels["example.com/app"] = track
		}
	}
	r := judged(set, apps)
	for name, all := range map[string]bool{"some": false, "all": true} {
		lines := r.Tree(screen.Screen{Width: 80}, now, all)
		expectFits(t, screen.Screen{Width: 80}, lines)
		golden.Expect(t, "get-tracks-"+name+"-80.golden", strings.Join(lines, "\n")+"\n")
	}
}

// Explain says what an Application waits for that comes after others: of an ApplicationSet without steps, and alone.
func TestExplainShowsWhatItComesAfter(t *testing.T) {
	for name, alone := range map[string]bool{"no-steps": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known := rollout.NewSnapshot()
			before, its := infra("1:net=Degraded/Synced@new")
			set, apps := scene("1:dev=Healthy/OutOfSync@new")
			set.Spec.Strategy = nil
			target := apps[0]
			if alone {
				target.OwnerReferences = nil
				target.Annotations = map[string]string{"stepgate.io/after": "infra"}
			} else {
				set.Annotations = map[string]string{"stepgate.io/after": "infra"}
			}
			known.Add(before, its...)
			known.Add(set, target)
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(target)
			g.Expect(err).NotTo(HaveOccurred())
			x, err := rollout.Explain(t.Context(), preview(known), known, rollout.Question{
				Live: &unstructured.Unstructured{Object: object}, App: target,
				By: "the settings of Deployment stepgate/stepgate",
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(x.Waits()).To(BeTrue(), "%+v", x)
			g.Expect(x.Reason).To(Equal("DependencyNotDone"))
			lines := x.Lines(screen.Screen{Width: 80}, now)
			expectFits(t, screen.Screen{Width: 80}, lines)
			golden.Expect(t, "explain-after-"+name+"-80.golden", strings.Join(lines, "\n")+"\n")
		})
	}
}

// everywhere is the same gate for all namespaces.
func everywhere(preview *webhook.Preview) rollout.Previews {
	return func(string) *webhook.Preview { return preview }
}
