// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Owned is Known.
func (f *family) Owned(types.UID) []*argocd.Projection {
	return slices.Collect(maps.Values(f.apps))
}

// TestTheViewAgreesWithTheStore about every claim, with the same slots in the same words, where it can read the objects.
func TestTheViewAgreesWithTheStore(t *testing.T) {
	outcomes := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		g := NewWithT(t)
		tr := drawTrial(r)
		for _, name := range slices.Sorted(maps.Keys(tr.apps)) {
			c := tr.claim(name)
			c.Operation = argocd.Fingerprint(rapid.IntRange(1, 2).Draw(r, "operation"))
			of := tr.set.Sibling(&tr.apps[name].Application)
			c.Step, c.ByHand = rapid.IntRange(of.Step, 1).Draw(r, "step"), rapid.Bool().Draw(r, "by hand")
			before := maps.Clone(tr.server.objects)
			want, err := tr.store.Take(t.Context(), c)
			g.Expect(err).NotTo(HaveOccurred())
			tr.server.objects = before
			view := NewView(tr.family, NewRecent(ConfigMaps{tr.server}, tr.clock), tr.clock)
			full, err := view.Take(t.Context(), c)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown(full)).To(Equal(shown(want)), name)
			g.Expect(tr.server.objects).To(Equal(before), "it takes nothing")
			blind, _ := NewView(tr.family, nil, tr.clock).Take(t.Context(), c)
			if want == nil {
				outcomes["free"]++
			} else {
				outcomes["full"]++
			}
			if (blind == nil) != (want == nil) {
				outcomes["the state alone does not tell"]++
			}
		}
	})
	if testing.Short() {
		return // rapid draws few
	}
	for _, outcome := range []string{"free", "full", "the state alone does not tell"} {
		NewWithT(t).Expect(outcomes[outcome]).To(BeNumerically(">", 0), "%s: %v", outcome, outcomes)
	}
}

// shown are slots as people read of them.
func shown(p *policy.Slots) *policy.Slots {
	if p == nil {
		return nil
	}
	other := policy.Slots{Most: p.Most, Taken: slices.Clone(p.Taken)}
	for i := range other.Taken {
		other.Taken[i].ComparedAt = time.Time{}
	}
	return &other
}

// drawTrial draws Applications of which some have slots, and a clock.
func drawTrial(r *rapid.T) *trial {
	tr := newTrial(rapid.SampledFrom([]intstr.IntOrString{
		intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("50%"),
	}).Draw(r, "maxUpdate"))
	table := table{Set: "argocd/guestbook"}
	for _, name := range []string{"a", "b", "c", "d"} {
		tr.change(name, func(a *policy.Application) {
			a.Labels = map[string]string{"env": rapid.SampledFrom([]string{"dev", "dev", "dev", "prod"}).Draw(r, "env")}
			a.Health = rapid.SampledFrom([]string{"Healthy", "Healthy", "Progressing", "Degraded"}).Draw(r, "health")
			a.SyncStatus = rapid.SampledFrom([]string{"Synced", "OutOfSync"}).Draw(r, "sync")
			a.OperationSet = rapid.IntRange(0, 3).Draw(r, "operation") == 0
			a.Deleting = rapid.IntRange(0, 9).Draw(r, "deleting") == 0
			if rapid.Bool().Draw(r, "has run") {
				a.LastOperation = policy.LastOperation{Phase: "Succeeded", StartedAt: tr.at(-8), FinishedAt: tr.at(-5)}
				a.ReconciledAt = tr.at(rapid.SampledFrom([]int{-6, -5, -4}).Draw(r, "compared"))
			}
		})
		if rapid.Bool().Draw(r, "recorded") {
			tr.set.Recorded[name] = rapid.SampledFrom([]policy.Recorded{
				{Step: 1, Pending: true}, {Step: 1, Started: true}, {Step: 1, Started: true, Healthy: true}, {Step: 1},
			}).Draw(r, "record")
		}
		if rapid.Bool().Draw(r, "has a slot") {
			table.Slots = append(table.Slots, Slot{
				Application: name, UID: types.UID(rapid.SampledFrom([]string{"uid-" + name, "other"}).Draw(r, "uid")),
				Step:      rapid.IntRange(tr.set.Sibling(&tr.apps[name].Application).Step, 1).Draw(r, "of step"),
				Operation: 1, OutOfSync: true,
				Version: rapid.SampledFrom([]string{tr.versionOf(name), "1", ""}).Draw(r, "version"),
				At:      tr.at(-rapid.SampledFrom([]int{1, 2, 9, 10}).Draw(r, "age")),

				LastStarted: rapid.SampledFrom([]time.Time{{}, tr.at(-8), tr.at(-60)}).Draw(r, "last started"),
			})
		}
		if rapid.IntRange(0, 9).Draw(r, "gone") == 0 {
			delete(tr.apps, name)
		}
	}
	for _, p := range tr.apps {
		tr.known = append(tr.known, tr.set.Sibling(&p.Application))
	}
	text, err := table.text()
	if err != nil {
		r.Fatal(err)
	}
	if err := (ConfigMaps{tr.server}).Write(r.Context(), "set", Stored{Text: text}); err != nil {
		r.Fatal(err)
	}
	return tr
}

// TestRecent reads once in a while, and tells why it cannot.
func TestRecent(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(1))
	g.Expect(tr.asks(t, tr.claim("a"))).To(BeNil())
	recent := NewRecent(ConfigMaps{tr.server}, tr.clock)
	first, err := recent.Text("set")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first).To(ContainSubstring(`"application":"a"`))
	g.Expect(recent.Text("another")).To(BeEmpty())

	clear(tr.server.objects)
	g.Expect(recent.Text("set")).To(Equal(first), "it was read a moment ago")
	tr.clock.Step(recently)
	g.Expect(recent.Text("set")).To(BeEmpty())

	tr.server.fails = errors.New("forbidden")
	tr.clock.Step(recently)
	_, err = recent.Text("set")
	g.Expect(err).To(MatchError("list the ConfigMaps of slots: forbidden"))
	view := NewView(tr.family, recent, tr.clock)
	g.Expect(view.Problem(tr.set)).To(MatchError(err))
	g.Expect(view.Problem(guestbook("set", intstr.FromInt32(0)))).To(Succeed(), "nothing is counted")
	g.Expect(NewView(tr.family, nil, tr.clock).Problem(tr.set)).To(Succeed(), "nobody tries")
	tr.server.fails = nil
	g.Expect(view.Problem(tr.set)).To(HaveOccurred(), "that was a moment ago")
	tr.clock.Step(recently + time.Second)
	g.Expect(view.Problem(tr.set)).To(Succeed())
}
