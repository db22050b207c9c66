// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// answers is what all objects are known to say.
type answers policy.Finding

// Known is judge.Evidence.
func (a answers) Known([]settings.Verification) policy.Evidence {
	return func(policy.Verification, string) policy.Finding { return policy.Finding(a) }
}

// Read is judge.Evidence.
func (a answers) Read(context.Context, *settings.Verification, string) (policy.Finding, error) {
	return policy.Finding(a), nil
}

// face is a rollout at which people look.
type face struct {
	scene       string
	annotations map[string]string
	// before is the scene of infra, after which it comes, and beforeThat are the annotations of that.
	before     string
	beforeThat map[string]string
	// app is the one whose sync somebody asks about.
	app    string
	change func(set *argo.ApplicationSet, apps []*argo.Application)
	// evidence is what objects say, and closed says that the sync window is.
	evidence *answers
	closed   bool
	keeps    bool
	// free says that nothing holds the sync up.
	free bool
}

var faces = map[string]face{
	"degraded": {scene: scenes["degraded"], app: "guestbook-prod-1"},
	"failed after retries": {
		scene: "1:dev=Healthy/OutOfSync@new:Progressing@new+failed 2:qa-eu=Healthy/OutOfSync@new:Waiting@new",
		app:   "guestbook-qa-eu",
	},
	"at work":           {scene: scenes["syncing"], app: "guestbook-prod-1"},
	"paused":            {scene: turn, annotations: pause, app: "guestbook-prod-1"},
	"unapproved":        {scene: turn, annotations: map[string]string{"stepgate.io/approve": "3"}, app: "guestbook-prod-1"},
	"soaking":           {scene: turn, annotations: map[string]string{"stepgate.io/soak": "30m"}, app: "guestbook-prod-1"},
	"window":            {scene: turn, closed: true, app: "guestbook-prod-1"},
	"evidence missing":  {scene: turn, annotations: verify, evidence: &answers{Answer: policy.NoAnswer, Detail: "nothing yet"}, app: "guestbook-prod-1"},
	"evidence no":       {scene: turn, annotations: verify, evidence: &answers{Answer: policy.No, Detail: "it has failed"}, app: "guestbook-prod-1"},
	"too many failures": {scene: stopped, annotations: map[string]string{"stepgate.io/max-failures": "1"}, app: "guestbook-prod-3"},
	"a step that is unapproved before it": {
		scene:       "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/OutOfSync@new:Pending@new 3:prod-1=Healthy/OutOfSync@new:Waiting@new",
		annotations: map[string]string{"stepgate.io/approve": "2"}, app: "guestbook-prod-1",
	},
	"after a chain of two": {
		scene: "1:dev=Healthy/OutOfSync@new:Pending@new 2:qa-eu=Healthy/OutOfSync@new:Waiting@new", annotations: map[string]string{"stepgate.io/after": "infra"},
		before:     "1:net=Healthy/Synced@new:Healthy@new 2:dns=Healthy/OutOfSync@new:Pending@new",
		beforeThat: map[string]string{"stepgate.io/approve": "2"}, app: "guestbook-qa-eu",
	},
	"circle": {
		scene: "1:dev=Healthy/OutOfSync@new:Pending@new", annotations: map[string]string{"stepgate.io/after": "infra"},
		before:     "1:net=Healthy/OutOfSync@new:Pending@new",
		beforeThat: map[string]string{"stepgate.io/after": "guestbook"}, app: "guestbook-dev",
	},
	"track": {
		scene: "1:dev-a=Healthy/Synced@new 1:dev-b=Degraded/Synced@new 2:qa-a=Healthy/OutOfSync@new:Pending@new " +
			"2:qa-b=Healthy/OutOfSync@new:Waiting@new",
		annotations: map[string]string{"stepgate.io/track": "example.com/app"}, app: "guestbook-qa-b",
		change: func(_ *argo.ApplicationSet, apps []*argo.Application) {
			for _, app := range apps {
				app.Labels["example.com/app"] = app.Name[strings.LastIndex(app.Name, "-")+1:]
			}
		},
	},
	"excluded": {
		scene:       "1:dev=Degraded/Synced@new:Progressing@new 2:qa-eu=Healthy/OutOfSync@new:Pending@new",
		annotations: map[string]string{"stepgate.io/exclude": "guestbook-dev 2026-11-22T21:00:00Z INC-1"}, app: "guestbook-qa-eu", free: true,
	},
	"bypassed": {
		scene:       scenes["degraded"],
		annotations: map[string]string{"stepgate.io/bypass": "2026-11-22T21:00:00Z INC-1"}, app: "guestbook-prod-1", free: true,
	},
	"slots full": {scene: crowded, keeps: true, app: "guestbook-prod-2"},
	"reported": {
		scene: "1:dev=Degraded/Synced@new:Progressing@new 2:qa-eu=Healthy/OutOfSync@new:Pending@new", app: "guestbook-qa-eu",
		change: func(_ *argo.ApplicationSet, apps []*argo.Application) {
			for _, app := range apps {
				app.Annotations = map[string]string{"argocd.argoproj.io/skip-reconcile": "true"}
			}
		},
	},
}

var verify = map[string]string{"stepgate.io/verify": "3=jobs.batch/smoke"}

// seen is what the faces show of it.
func (f *face) seen(t *testing.T) (r *rollout.Rollout, x *rollout.Explanation) {
	t.Helper()
	g := NewWithT(t)
	known := rollout.NewSnapshot()
	if f.before != "" {
		set, apps := infra(f.before)
		set.Annotations = f.beforeThat
		known.Add(set, apps...)
	}
	set, apps := with(f.scene, f.annotations)
	if f.change != nil {
		f.change(set, apps)
	}
	known.Add(set, apps...)
	by, gate := knownBy(known), config
	if f.closed {
		by.Windows = closedUntil(time.Date(2026, 11, 22, 22, 0, 1, 0, time.UTC))
	}
	if f.evidence != nil {
		by.Evidence = f.evidence
	}
	gate.MaxUpdate = f.keeps
	preview := webhook.NewPreview(gate, by, nil)
	for _, its := range known.Sets() {
		if its.Name == set.Name {
			r = rollout.Judge(preview.Outlook(its))
		}
	}
	for _, app := range apps {
		if app.Name != f.app {
			continue
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
		g.Expect(err).NotTo(HaveOccurred())
		x, err = rollout.Explain(t.Context(), preview, known, rollout.Question{
			Live: &unstructured.Unstructured{Object: object}, App: app, Config: gate, By: "its settings",
		})
		g.Expect(err).NotTo(HaveOccurred())
	}
	return r, x
}

// TestAllFacesSayTheSame: what a rollout needs, in one table, and in the same words in `get`, in the list, in `wait`, in
// `explain`, in the denial, which the Event of a held sync repeats, and in the types of the dashboard and the extension.
// Package notify tests the same of messages.
func TestAllFacesSayTheSame(t *testing.T) {
	table := "| rollout | who | text | do | holds |\n|---|---|---|---|---|\n"
	wide := screen.Screen{Width: 4000}
	for _, name := range []string{
		"degraded", "failed after retries", "at work", "paused", "unapproved", "soaking", "window", "evidence missing",
		"evidence no", "too many failures", "a step that is unapproved before it", "after a chain of two", "circle", "track",
		"excluded", "bypassed", "slots full", "reported",
	} {
		f := faces[name]
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, x := f.seen(t)
			for _, n := range r.Needs {
				table += fmt.Sprintf("| %s | %s | %s | %s | %d |\n", name, n.Actor, n.Text, n.Do, n.Holds)
			}
			if f.free {
				g.Expect(x.Outcome).NotTo(Or(Equal(rollout.Held), Equal(rollout.Refused)))
				table += fmt.Sprintf("| %s | | %s: %s | | |\n", name, f.app, x.Verdict())
				return
			}
			first := x.Needs[0]
			g.Expect(x.Outcome).To(Equal(rollout.Held))
			g.Expect(strings.Join(r.Tree(wide, now, false), "\n")).To(ContainSubstring(first.Text))
			g.Expect(x.Message).To(ContainSubstring(first.Text), "the denial, and the Event")
			if first.Actor == string(policy.You) {
				g.Expect(x.Message).To(ContainSubstring("Next: " + first.Do))
			} else {
				g.Expect(x.Message).NotTo(ContainSubstring("Next: "), "nobody has to do anything")
			}
			explained := strings.Join(x.Lines(wide, now), "\n")
			g.Expect(explained).To(ContainSubstring("1. " + first.Text))
			g.Expect(explained).To(ContainSubstring("Do: " + first.Do))
			_, state, err := rollout.Goal{Application: f.app}.Reached(r)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(state+" "+r.Line()).To(ContainSubstring(first.Text), "wait")
			row := dashboard.RowOf(r)
			g.Expect(*row.Need).To(Equal(r.Needs[0]))
			g.Expect(r.Needs).To(ContainElement(HaveField("Text", first.Text)), "the dashboard and the extension")
		})
	}
	golden.Expect(t, "faces.md", table)
}
