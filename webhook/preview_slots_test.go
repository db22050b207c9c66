// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// readable is a scenario that a Store of slots reads.
type readable struct{ scenario.Watched }

// Known is slots.Reader.
func (r readable) Known(set *policy.ApplicationSet) (all []policy.Sibling) {
	for _, p := range r.Owned(types.UID(set.UID)) {
		all = append(all, set.Sibling(&p.Application))
	}
	return all
}

// Application is slots.Reader.
func (r readable) Application(_ context.Context, set *policy.ApplicationSet, name string) (*argocd.Projection, error) {
	return r.Watched.Application(types.NamespacedName{Namespace: set.Namespace, Name: name}), nil
}

// Current is slots.Reader.
func (r readable) Current(
	_ context.Context, set *policy.ApplicationSet, _ int, _ *argocd.Projection,
) ([]policy.Sibling, error) {
	return r.Known(set), nil
}

// object is the only object of slots; an error says why it cannot be read.
type object struct {
	text string
	err  error
}

// Read is slots.Objects.
func (o *object) Read(context.Context, types.UID) (slots.Stored, error) {
	return slots.Stored{Text: o.text, Version: "1"}, o.err
}

// Write is slots.Objects.
func (o *object) Write(_ context.Context, _ types.UID, s slots.Stored) error {
	o.text = s.Text
	return nil
}

// Text is slots.Texts.
func (o *object) Text(types.UID) (string, error) { return o.text, o.err }

// held is the slot of prod-eu, which shows nothing yet.
const held = `{"applicationSet":"argocd/guestbook","slots":[{"application":"prod-eu","uid":"prod-eu-uid","step":2,` +
	`"operation":"1","at":"2026-03-01T12:00:00Z"}]}`

// TestThePreviewKnowsTheSlots as the gate does, for every writer, and in the same words. Only what the object alone
// tells it does not know where it may not read it, and says so.
func TestThePreviewKnowsTheSlots(t *testing.T) {
	const (
		quiet = "1:dev=Healthy@b 3:prod-eu=Healthy@b 3:prod=Healthy@b"
		busy  = "1:dev=Healthy@b 3:prod-eu=Progressing@b 3:prod=Healthy@b"
	)
	full := "step 3 of ApplicationSet argocd/guestbook may not sync yet (MaxUpdateReached: its maxUpdate is 1): " +
		"prod-eu (NotHealthy: Progressing)"
	unseen := strings.Replace(full, "NotHealthy: Progressing", "MaxUpdateReached", 1)
	const byItself = ". Nobody has to do anything: the sync starts by itself"
	for name, tc := range map[string]struct {
		scenario string
		most     int32
		object   object
		user     string
		byHand   bool
		mode     settings.Mode
		want     string
		blind    bool
	}{
		"a slot is free":                       {scenario: quiet, most: 1},
		"none is free":                         {scenario: busy, most: 1, want: full + byItself},
		"none is free for a user":              {scenario: busy, most: 1, user: scenario.ArgoCDServer, byHand: true, want: full + ". Next: wait until one of them is Healthy"},
		"none is free for auto-sync":           {scenario: busy, most: 1, user: scenario.ApplicationController, want: full + byItself},
		"two are allowed":                      {scenario: busy, most: 2},
		"audit mode":                           {scenario: busy, most: 1, mode: settings.Audit},
		"by hand only":                         {scenario: quiet, want: "step 3 of ApplicationSet argocd/guestbook may not sync by itself (MaxUpdateReached: its maxUpdate is 0). Next: sync it by hand. The sync then starts by itself"},
		"by hand":                              {scenario: quiet, user: scenario.ArgoCDServer, byHand: true},
		"the object alone tells":               {scenario: quiet, most: 1, object: object{text: held}, want: unseen + byItself},
		"the object tells, and nobody may ask": {scenario: quiet, most: 1, object: object{err: errors.New("forbidden")}, blind: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(tc.scenario)
			most := intstr.FromInt32(tc.most)
			c.Sets[0].Spec.Strategy.RollingSync.Steps[2].MaxUpdate = &most
			config := scenario.Releasing()
			config.MaxUpdate, config.Mode = true, tc.mode
			known := scenario.Watched{Cluster: c}
			a := scenario.SyncOf(c, "prod")
			if tc.user != "" {
				a.User = tc.user
			}
			a.After.Operation.InitiatedBy.Automated = !tc.byHand

			p := previewOf(config, c, known, &tc.object)
			answer, err := p.Write(t.Context(), a.Request())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.Message).To(Equal(tc.want))
			set, _ := known.Set(types.NamespacedName{Namespace: "argocd", Name: "guestbook"})
			if tc.blind {
				g.Expect(p.Outlook(set).SlotsProblem()).To(Equal("the slots of maxUpdate count by what the Applications show, " +
					"and the gate may know of more, because its ConfigMaps cannot be read: forbidden"))
				return
			}
			g.Expect(p.Outlook(set).SlotsProblem()).To(BeEmpty())

			// The gate has the same answer.
			trial := newTrial(config, c)
			trial.course.Slots = slots.NewStore(&object{text: tc.object.text}, readable{known}, scenario.AtNoon)
			_, after := mutatedBy(t, trial, c, a)
			if heldBack := after.Operation == nil; heldBack || answer.Held {
				g.Expect(answer.Held).To(Equal(heldBack))
				g.Expect(trial.posted()).To(ConsistOf(HaveField("Note", tc.want)))
				return
			}
			mutated := *a
			mutated.After = after
			resp := trial.handle(mutated.Request())
			g.Expect(resp.Allowed).To(Equal(tc.want == ""))
			if tc.want != "" {
				g.Expect(resp.Result.Message).To(Equal(tc.want))
			}
		})
	}
}

// TestThePreviewOfAllSyncsKnowsTheSlots: while one is under way, the others of its step wait.
func TestThePreviewOfAllSyncsKnowsTheSlots(t *testing.T) {
	for name, tc := range map[string]struct {
		config func(*settings.Config)
		text   string
		want   policy.Reason
	}{
		"switched on":           {want: policy.MaxUpdateReached},
		"the object tells":      {text: held, want: policy.MaxUpdateReached},
		"switched off":          {config: func(c *settings.Config) { c.MaxUpdate = false }, want: policy.EarlierStepsDone},
		"in audit mode":         {config: func(c *settings.Config) { c.Mode = settings.Audit }, want: policy.EarlierStepsDone},
		"and the slots are two": {config: nil, text: "two", want: policy.EarlierStepsDone},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:prod-eu=Progressing@b 3:prod=Healthy@b 3:prod-us=Healthy@b")
			most := intstr.FromInt32(1)
			if tc.text == "two" {
				tc.text, most = "", intstr.FromInt32(2)
			}
			if tc.text != "" {
				c.Apps[1].Status.Health.Status = "Healthy"
			}
			c.Sets[0].Spec.Strategy.RollingSync.Steps[2].MaxUpdate = &most
			for _, app := range c.Apps[2:] {
				app.Status.Sync.Status = "OutOfSync"
			}
			config := scenario.Releasing()
			config.MaxUpdate = true
			if tc.config != nil {
				tc.config(&config)
			}
			known := scenario.Watched{Cluster: c}
			preview := previewOf(config, c, known, &object{text: tc.text})
			set, _ := known.Set(types.NamespacedName{Namespace: "argocd", Name: "guestbook"})
			waiting := preview.Outlook(set).ToCome()
			g.Expect(waiting).To(HaveLen(2))
			for name, d := range waiting {
				g.Expect(d.Reason).To(Equal(tc.want), name)
			}
		})
	}
}
