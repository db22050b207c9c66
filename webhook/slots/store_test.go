// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// trial is a Store of four Applications in the first step.
type trial struct {
	*family
	server *apiServer
	clock  *clocktesting.FakeClock
	set    *argocd.ApplicationSet
	store  *Store
}

func newTrial(most intstr.IntOrString) *trial {
	tr := &trial{
		family: newFamily("a", "b", "c", "d"), server: newAPIServer(), clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)),
		set: guestbook("set", most),
	}
	tr.store = NewStore(ConfigMaps{tr.server}, tr.family, tr.clock)
	return tr
}

func (tr *trial) claim(name string) Claim {
	return Claim{
		Set: tr.set, Application: name, UID: types.UID("uid-" + name), Version: tr.versionOf(name), Operation: 1,
	}
}

// asks returns who takes the slots; nil if the Application has got one.
func (tr *trial) asks(t *testing.T, c Claim) []string {
	full, err := tr.store.Take(t.Context(), c)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	if full == nil {
		return nil
	}
	names := []string{}
	for _, b := range full.Taken {
		names = append(names, b.Application+"="+string(b.Reason))
	}
	return names
}

// at is a moment after that of the clock, as Argo CD stores it.
func (tr *trial) at(seconds int) time.Time {
	return tr.clock.Now().Add(time.Duration(seconds) * time.Second)
}

// TestWhatFreesASlot has a take the only slot, and looks whether b gets one after something has happened to a.
func TestWhatFreesASlot(t *testing.T) {
	ran := func(edit func(tr *trial, a *policy.Application)) func(*trial) {
		return func(tr *trial) {
			tr.change("a", func(a *policy.Application) { a.OperationSet = true })
			tr.change("a", func(a *policy.Application) {
				a.OperationSet, a.SyncStatus = false, "Synced"
				a.LastOperation = policy.LastOperation{
					Phase: "Succeeded", StartedAt: tr.at(1), FinishedAt: tr.at(5),
				}
				a.ReconciledAt = tr.at(6)
				edit(tr, a)
			})
		}
	}
	recorded := func(r policy.Recorded, edit func(tr *trial, a *policy.Application)) func(*trial) {
		return func(tr *trial) {
			ran(edit)(tr)
			tr.set.Recorded["a"] = r
		}
	}
	nothing := func(*trial, *policy.Application) {}
	outOfSync := func(seconds int) func(tr *trial, a *policy.Application) {
		return func(tr *trial, a *policy.Application) {
			a.ReconciledAt, a.SyncStatus = tr.at(seconds), "OutOfSync"
			a.LastSync = policy.LastSync{FinishedAt: tr.at(5), AtCompared: true, SameSources: true}
		}
	}
	failed := func(_ *trial, a *policy.Application) {
		a.LastOperation.Phase, a.Health, a.SyncStatus = "Failed", "Degraded", "OutOfSync"
	}
	for name, tc := range map[string]struct {
		happens func(*trial)
		want    []string
	}{
		"nothing has happened yet":   {func(*trial) {}, []string{"a=MaxUpdateReached"}},
		"its operation is asked for": {func(tr *trial) { tr.change("a", func(a *policy.Application) { a.OperationSet = true }) }, []string{"a=OperationInProgress"}},
		"its operation runs, long after": {func(tr *trial) {
			tr.change("a", func(a *policy.Application) { a.LastOperation.Phase = "Running" })
			tr.clock.Step(time.Hour)
		}, []string{"a=OperationInProgress"}},
		"it was synced, and is Healthy":                   {ran(nothing), nil},
		"it is Healthy by a comparison from before":       {ran(func(tr *trial, a *policy.Application) { a.ReconciledAt = tr.at(4) }), []string{"a=NotCompleted"}},
		"it was found Synced in the second of the end":    {ran(func(tr *trial, a *policy.Application) { a.ReconciledAt = tr.at(5) }), nil},
		"it was found OutOfSync in the second of the end": {ran(func(tr *trial, a *policy.Application) { a.ReconciledAt, a.SyncStatus = tr.at(5), "OutOfSync" }), []string{"a=NotCompleted"}},
		"it was found OutOfSync a moment after that":      {ran(outOfSync(8)), []string{"a=NotCompleted"}},
		"it is OutOfSync, long after that":                {ran(outOfSync(11)), nil},
		"only pruning is left":                            {recorded(policy.Recorded{Step: 1, Started: true}, func(_ *trial, a *policy.Application) { a.SyncStatus = "OutOfSync" }), nil},
		"it was synced, and is Progressing":               {ran(func(_ *trial, a *policy.Application) { a.Health = "Progressing" }), []string{"a=NotHealthy"}},
		"it was synced once more, and is Progressing":     {recorded(policy.Recorded{Step: 1, Started: true, Healthy: true}, func(_ *trial, a *policy.Application) { a.Health = "Progressing" }), []string{"a=NotHealthy"}},
		"it was synced, and is Degraded":                  {ran(func(_ *trial, a *policy.Application) { a.Health = "Degraded" }), []string{"a=NotHealthy"}},
		"its sync has failed, and is counted by Argo CD":  {recorded(policy.Recorded{Step: 1, Started: true}, failed), []string{"a=NotHealthy"}},
		"its sync has failed, and Argo CD has asked":      {recorded(policy.Recorded{Step: 1, Pending: true}, failed), []string{"a=NotHealthy"}},
		"its sync has failed, and a new revision waits":   {recorded(policy.Recorded{Step: 1}, failed), nil},
		"it is deleted":                                {func(tr *trial) { delete(tr.apps, "a") }, nil},
		"it is another one of the name":                {func(tr *trial) { tr.apps["a"].UID = "other" }, nil},
		"its write was not stored, and it has changed": {func(tr *trial) { tr.change("a", func(*policy.Application) {}) }, nil},
		"its write was not stored, and it has begun to roll out": {func(tr *trial) {
			tr.change("a", func(a *policy.Application) { a.SyncStatus, a.Health = "Synced", "Progressing" })
			tr.set.Recorded["a"] = policy.Recorded{Step: 1, Started: true, Healthy: true}
		}, nil},
		"nobody has seen its write stored for a moment":         {func(tr *trial) { tr.clock.Step(10*time.Second - 1) }, []string{"a=MaxUpdateReached"}},
		"nobody has seen its write stored for 10 s":             {func(tr *trial) { tr.clock.Step(10 * time.Second) }, nil},
		"the clock of who has judged it was 10 s ahead of ours": {func(tr *trial) { tr.clock.Step(-10 * time.Second) }, nil},
		"it has got the label of another step": {func(tr *trial) {
			tr.change("a", func(a *policy.Application) { a.Labels = map[string]string{"env": "prod"}; a.OperationSet = true })
		}, []string{"a=OperationInProgress"}},
		"it has got such a label, and was synced":         {ran(func(_ *trial, a *policy.Application) { a.Labels = map[string]string{"env": "prod"} }), nil},
		"maxUpdate is raised":                             {func(tr *trial) { tr.set = guestbook("set", intstr.FromInt32(2)) }, nil},
		"maxUpdate is taken away":                         {func(tr *trial) { tr.set.MaxUpdate = nil }, nil},
		"somebody deletes the object before it is stored": {func(tr *trial) { clear(tr.server.objects) }, nil},
		"somebody deletes the object after it is stored": {func(tr *trial) {
			clear(tr.server.objects)
			tr.change("a", func(a *policy.Application) { a.OperationSet = true })
		}, []string{"a=OperationInProgress"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(intstr.FromInt32(1))
			NewWithT(t).Expect(tr.asks(t, tr.claim("a"))).To(BeNil())
			tc.happens(tr)
			NewWithT(t).Expect(tr.asks(t, tr.claim("b"))).To(Equal(tc.want))
		})
	}
}

func TestTheSameWriteHasItsSlot(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(1))
	c := tr.claim("a")
	g.Expect(tr.asks(t, c)).To(BeNil())
	version := tr.server.version
	g.Expect(tr.asks(t, c)).To(BeNil())
	g.Expect(tr.server.version).To(Equal(version), "nothing is written")
	tr.clock.Step(renewedAfter)
	g.Expect(tr.asks(t, c)).To(BeNil())
	g.Expect(tr.server.version).To(Equal(version+1), "the time in which it may be stored begins anew")
	tr.change("a", func(a *policy.Application) { a.OperationSet = true })
	other := tr.claim("a")
	other.Operation = 2
	g.Expect(tr.asks(t, other)).To(BeNil(), "another operation of it is not one more")
	g.Expect(tr.asks(t, tr.claim("b"))).To(HaveLen(1))
}

// TestAClaimTakesNoSlotAway from an Application that was synced, and that Argo CD has not compared since.
func TestAClaimTakesNoSlotAway(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(1))
	g.Expect(tr.asks(t, tr.claim("a"))).To(BeNil())
	tr.change("a", func(a *policy.Application) {
		a.LastOperation = policy.LastOperation{Phase: "Succeeded", StartedAt: tr.at(1), FinishedAt: tr.at(5)}
		a.ReconciledAt = tr.at(-1)
	})
	other := tr.claim("a")
	other.Operation = 2
	g.Expect(tr.asks(t, other)).To(BeNil(), "it has the slot")
	tr.clock.Step(confirmedWithin)
	g.Expect(tr.asks(t, tr.claim("b"))).To(Equal([]string{"a=NotCompleted"}))
}

// TestMadeUpClaims are those of somebody who is not the API server: none keeps another one from the only slot for more
// than a moment, however often it comes.
func TestMadeUpClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		claim func(c *Claim)
		want  []string
	}{
		"an Application that there is not":         {func(c *Claim) { c.Application = "made-up" }, nil},
		"one that is created":                      {func(c *Claim) { c.Application, c.UID, c.Version = "made-up", "", "" }, nil},
		"an Application of that name is created":   {func(c *Claim) { c.UID, c.Version = "made-up", "" }, nil},
		"an Application with another UID":          {func(c *Claim) { c.UID = "made-up" }, nil},
		"an Application at another version":        {func(c *Claim) { c.Version = "0" }, nil},
		"an Application as it is, for the 10 s":    {func(*Claim) {}, []string{"a=MaxUpdateReached"}},
		"an Application that is of another family": {func(c *Claim) { c.Application = "alone" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tr := newTrial(intstr.FromInt32(1))
			c := tr.claim("a")
			tc.claim(&c)
			for range 3 {
				g.Expect(tr.asks(t, c)).To(BeNil())
				tr.clock.Step(renewedAfter)
			}
			b := tr.claim("b")
			g.Expect(tr.asks(t, b)).To(Equal(tc.want))
			if tc.want == nil {
				g.Expect(tr.asks(t, c)).NotTo(BeNil(), "it is judged like another")
				return
			}
			tr.clock.Step(confirmedWithin - renewedAfter)
			g.Expect(tr.asks(t, b)).To(BeNil())
		})
	}
}

// TestWhoIsCreatedTakesASlot as soon as it is there with its operation.
func TestWhoIsCreatedTakesASlot(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(1))
	created := Claim{Set: tr.set, Application: "e", UID: "uid-e", Operation: 1}
	g.Expect(tr.asks(t, created)).To(BeNil())
	tr.change("e", func(a *policy.Application) { a.OperationSet = true })
	g.Expect(tr.asks(t, tr.claim("a"))).To(Equal([]string{"e=OperationInProgress"}))
}

// slow are Objects that take a while to write.
type slow struct {
	Objects
	writes []func()
}

func (s *slow) Write(ctx context.Context, set types.UID, stored Stored) error {
	if len(s.writes) > 0 {
		s.writes[0]()
		s.writes = s.writes[1:]
	}
	return s.Objects.Write(ctx, set, stored)
}

// TestASlowWriteOfTheSlot is made again: the time to be confirmed begins with the answer.
func TestASlowWriteOfTheSlot(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(1))
	tr.store = NewStore(&slow{ConfigMaps{tr.server}, []func(){
		func() { tr.clock.Step(5 * time.Second) }, func() { tr.clock.Step(renewedAfter - 1) },
	}}, tr.family, tr.clock)
	g.Expect(tr.asks(t, tr.claim("a"))).To(BeNil())
	g.Expect(tr.server.version).To(Equal(2))
	tr.clock.Step(confirmedWithin - renewedAfter)
	g.Expect(tr.asks(t, tr.claim("b"))).To(HaveLen(1))
	tr.clock.Step(1)
	g.Expect(tr.asks(t, tr.claim("b"))).To(BeNil())
}

func TestMaxUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		most intstr.IntOrString
		want int
	}{
		"a number":                      {intstr.FromInt32(2), 2},
		"more than there are":           {intstr.FromInt32(9), 4},
		"half":                          {intstr.FromString("50%"), 2},
		"a percentage of less than one": {intstr.FromString("10%"), 1},
		"it cannot be read":             {intstr.FromString("many"), 1},
		"none":                          {intstr.FromInt32(0), 0},
		"none of a hundred":             {intstr.FromString("0%"), 0},
		"less than none":                {intstr.FromInt32(-1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tr, got := newTrial(tc.most), 0
			for _, app := range []string{"a", "b", "c", "d"} {
				if tr.asks(t, tr.claim(app)) == nil {
					got++
				}
			}
			g.Expect(got).To(Equal(tc.want))
			byHand := tr.claim("d")
			byHand.ByHand, byHand.Operation = true, 2
			g.Expect(tr.asks(t, byHand) == nil).To(Equal(tc.want == 0 || tc.want == 4), "by hand")
		})
	}
}

// TestItIsLowered has three of four under way when maxUpdate becomes 2.
func TestItIsLowered(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(3))
	for _, app := range []string{"a", "b", "c"} {
		g.Expect(tr.asks(t, tr.claim(app))).To(BeNil())
	}
	tr.set = guestbook("set", intstr.FromInt32(2))
	g.Expect(tr.asks(t, tr.claim("d"))).To(HaveLen(3))
	tr.change("a", func(*policy.Application) {})
	g.Expect(tr.asks(t, tr.claim("d"))).To(HaveLen(2))
	tr.change("b", func(*policy.Application) {})
	g.Expect(tr.asks(t, tr.claim("d"))).To(BeNil())
}

// TestWhoIsCountedWithoutASlot counts who was let through without one, and whom the controller is about to sync.
func TestWhoIsCountedWithoutASlot(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(2))
	tr.change("d", func(a *policy.Application) { a.OperationSet = true })
	for _, name := range []string{"b", "c"} {
		tr.set.Recorded[name] = policy.Recorded{Step: 1, Pending: true}
	}
	g.Expect(tr.asks(t, tr.claim("a"))).To(Equal([]string{
		"b=MaxUpdateReached", "c=MaxUpdateReached", "d=OperationInProgress",
	}))
	g.Expect(tr.asks(t, tr.claim("c"))).To(Equal([]string{"b=MaxUpdateReached", "d=OperationInProgress"}))
	g.Expect(tr.asks(t, tr.claim("b"))).To(BeNil(), "one of them can always go")
	tr.change("c", func(a *policy.Application) { a.Labels = map[string]string{"env": "prod"} })
	other := tr.claim("c")
	other.Step = 1
	g.Expect(tr.asks(t, other)).To(BeNil(), "each step has its own slots")
	other.Track = "x"
	other.Application, other.UID = "e", ""
	other.Version = ""
	g.Expect(tr.asks(t, other)).To(BeNil(), "a write that creates it")
}

// TestAKnownDenial costs a read of the object and one of an Application, and is not believed without that.
func TestAKnownDenial(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(1))
	known := &policy.Application{Name: "a", Labels: map[string]string{"env": "dev"}, OperationSet: true}
	tr.known = []policy.Sibling{tr.set.Sibling(known)}
	g.Expect(tr.asks(t, tr.claim("b"))).To(BeNil())
	g.Expect(tr.reads).To(Equal(3), "it is not under way, and so b and all are read")
	tr.reads = 0
	tr.change("b", func(*policy.Application) {})
	tr.change("a", func(a *policy.Application) { a.OperationSet = true })
	g.Expect(tr.asks(t, tr.claim("c"))).To(Equal([]string{"a=OperationInProgress"}))
	g.Expect(tr.reads).To(Equal(1))
}

// TestAFailureIsNoDecision fails each thing that is needed.
func TestAFailureIsNoDecision(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		breaks func(*trial)
		want   string
	}{
		"the object cannot be read":       {func(tr *trial) { tr.server.fails = broken }, "get ConfigMap stepgate-slots-set: broken"},
		"the Applications cannot be read": {func(tr *trial) { tr.fails = broken }, "broken"},
		"the object is no JSON": {func(tr *trial) {
			for _, o := range tr.server.objects {
				o.Data[key] = "{"
			}
		}, "slots: unexpected end of JSON input"},
		"the object is empty": {func(tr *trial) {
			for _, o := range tr.server.objects {
				o.Data = nil
			}
		}, "ConfigMap stepgate-slots-set has no slots.json: delete it"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tr := newTrial(intstr.FromInt32(2))
			g.Expect(tr.asks(t, tr.claim("a"))).To(BeNil())
			tc.breaks(tr)
			_, err := tr.store.Take(t.Context(), tr.claim("b"))
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestSweep removes the objects of ApplicationSets that are gone.
func TestSweep(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(2))
	g.Expect(tr.asks(t, tr.claim("a"))).To(BeNil())
	sets := sets{}
	sweeper := Sweeper{Kept: ConfigMaps{tr.server}, Sets: &sets}
	sets.set = tr.set
	g.Expect(sweeper.Sweep(t.Context())).To(Succeed())
	g.Expect(tr.server.objects).To(HaveLen(1))
	sets.err = errors.New("broken")
	g.Expect(sweeper.Sweep(t.Context())).To(MatchError(sets.err))
	g.Expect(tr.server.objects).To(HaveLen(1))
	sets.set, sets.err = guestbook("another", intstr.FromInt32(2)), nil
	g.Expect(sweeper.Sweep(t.Context())).To(Succeed())
	g.Expect(tr.server.objects).To(BeEmpty())
}
