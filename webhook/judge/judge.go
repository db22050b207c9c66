// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Evaluator evaluates the rule on what the API server holds now. LiveEvaluator is one. An error of either method means
// that there is no decision: in enforce mode the write is then not allowed.
type Evaluator interface {
	// ApplicationSet reads an ApplicationSet live; nil without an error means that it does not exist.
	ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error)
	// Evaluate decides on the siblings as they are now. It ignores the input's Siblings. open is what policy.Scope says
	// of the input, without settling it.
	Evaluate(ctx context.Context, in policy.Input, open policy.Decision) (policy.Decision, error)
	// Named reads live what there is of a name.
	Named(ctx context.Context, name types.NamespacedName) (Named, error)
}

// KnownSets gives ApplicationSets and their Applications as last watched, without a read.
type KnownSets interface {
	Set(name types.NamespacedName) (*argocd.ApplicationSet, cluster.Version)
	Owned(owner types.UID) []*argocd.Projection
	// Application is nil when it is not known.
	Application(name types.NamespacedName) *argocd.Projection
}

// Dependencies are what a Judge works with.
type Dependencies struct {
	// Live is the only source of an allow.
	Live Evaluator
	// Known lets an ApplicationSet be read side by side with its Applications; nil if it is read first.
	Known     KnownSets
	Histories Histories
	// Windows are the sync windows that syncs are held for; nil if they are left to Argo CD alone.
	Windows SyncWindows
	// Evidence is what objects of the cluster say; nil if nobody reads it, and then nothing is verified.
	Evidence Evidence
	// Clock is that for the end of a bypass and of conditions.
	Clock clock.PassiveClock
}

// Judge judges writes.
type Judge struct {
	// Config says how the installation gates.
	Config settings.Config
	// Parser makes the Settings of writes and ApplicationSets.
	Parser *settings.Parser
	Dependencies
	// overrides are the positions at which operations first named revisions that were not compared.
	overrides *cache.LRUExpireCache
}

// New returns a Judge.
func New(config settings.Config, dependencies Dependencies) *Judge {
	parser := settings.NewParser(config, dependencies.Clock)
	return &Judge{
		Config: config, Parser: parser, Dependencies: dependencies, overrides: cache.NewLRUExpireCache(maxOverrides),
	}
}

// Judge judges one write, as a member of each of its ApplicationSets. The strictest answer counts.
func (j *Judge) Judge(ctx context.Context, w *Write) (worst Verdict) {
	start := time.Now()
	if d, settled := policy.Relevant(w.Target); d.Reason == policy.NotManaged {
		worst = j.judgeAlone(ctx, w)
	} else if settled {
		worst = Verdict{Decision: d, Settings: j.Parser.Of(nil)}
	} else {
		worst = j.judgeMember(ctx, w, w.Owners[0])
		for _, owner := range w.Owners[1:] {
			if v := j.judgeMember(ctx, w, owner); v.StricterThan(worst) {
				worst = v
			}
		}
	}
	worst.Initiator, worst.Took = j.initiator(w.User), time.Since(start)
	return worst
}

// judgeMember judges the write as a member of the ApplicationSet that the owner names.
func (j *Judge) judgeMember(ctx context.Context, w *Write, owner argocd.Owner) Verdict {
	if known := j.knownSet(owner); known != nil {
		return j.judgeMeanwhile(ctx, w, owner, known)
	}
	set, err := j.Live.ApplicationSet(ctx, owner.NamespacedName)
	return j.judgeWith(ctx, w, owner, setRead{set, err})
}

// judgeWith judges the write by an ApplicationSet that was read, or by the failure to read it.
func (j *Judge) judgeWith(ctx context.Context, w *Write, owner argocd.Owner, read setRead) Verdict {
	set := read.set
	if set != nil && set.UID != string(owner.UID) {
		set = nil
	}
	s := j.Parser.OfWrite(set, w.Claim())
	if read.err != nil {
		return Verdict{Settings: s, Err: read.err}
	}
	_, parent := owner.Parent()
	switch noOrder := parent && (set == nil || !j.Config.Waves); {
	case noOrder && w.lender != nil:
		return Verdict{} // judgeLent has it judged otherwise
	case noOrder:
		return j.judgeAlone(ctx, w)
	case set == nil:
		d, _ := policy.Scope(j.Input(w, nil, s, settings.After{}))
		return Verdict{Decision: d, Settings: s}
	}
	if v, ordered := j.judgeLent(ctx, w, set); ordered {
		return v
	}
	w = w.In(set.Namespace).Under(s.Mode)
	after, problems := j.After(w, s)
	in := j.Input(w, &set.ApplicationSet, s, after)
	in.History = j.History(w, &set.ApplicationSet)
	var err error
	d, settled := policy.Scope(in)
	if !settled {
		d, err = j.evaluate(ctx, in, s, d)
	}
	if err == nil {
		d, err = j.follow(ctx, w, in, set, after, d)
		s.Problems = slices.Concat(s.Problems, problems)
	}
	repeated := j.Repeats(in) || j.Config.Hold && w.remnant()
	return Verdict{
		Decision: d, Settings: s, Err: err, Repeated: repeated, Stopped: in.Target.Stopped, Found: true, Set: set,
	}
}

// judgeLent judges the write as one of a member of the order of its ApplicationSet's parent, if that gives one; else it
// reports false. Nothing but that order counts then, and what the ApplicationSet comes after: it gives no order.
func (j *Judge) judgeLent(ctx context.Context, w *Write, set *argocd.ApplicationSet) (v Verdict, ordered bool) {
	child := set.Counts()
	if child == nil || !j.Config.Waves {
		return Verdict{}, false
	}
	order := types.NamespacedName{Namespace: set.Namespace, Name: child.Set}
	v = j.judgeMember(ctx, w.Lent(set), argocd.Owner{NamespacedName: order, UID: child.Owner})
	return v, v.Found || v.Err != nil
}

// OrderOf is the known order by which the Applications of an ApplicationSet are judged that gives none itself; nil if
// there is none.
func (j *Judge) OrderOf(set *argocd.ApplicationSet, known KnownSets) *argocd.ApplicationSet {
	return OrderOf(j.Config, set, known)
}

// OrderOf is Judge.OrderOf of an installation.
func OrderOf(config settings.Config, set *argocd.ApplicationSet, known KnownSets) *argocd.ApplicationSet {
	child := set.Counts()
	if child == nil || !config.Waves {
		return nil
	}
	order, _ := known.Set(types.NamespacedName{Namespace: set.Namespace, Name: child.Set})
	return order
}

// judgeAlone judges the write of an Application that is in no order: it is judged only if it comes after others.
func (j *Judge) judgeAlone(ctx context.Context, w *Write) Verdict {
	d := policy.Decision{Outcome: policy.NotGated, Reason: policy.NotManaged, Step: -1}
	set := argocd.Alone(w.Namespace, w.UID, w.App.Metadata.Annotations)
	s := j.Parser.OfWrite(set, w.Claim())
	if !s.After.Waits() {
		return Verdict{Decision: d, Settings: j.Parser.Of(nil)}
	}
	in := j.Input(w, &set.ApplicationSet, s, s.After)
	in.History = j.History(w, &set.ApplicationSet)
	d.Application = w.Target.Name
	d, err := j.follow(ctx, w, in, set, s.After, d)
	return Verdict{Decision: d, Settings: s, Err: err, Found: true}
}

// After is what the Application of a write comes after, as a member of an ApplicationSet with these Settings, and what is
// wrong with what it says itself.
func (j *Judge) After(w *Write, s settings.Settings) (all settings.After, problems []settings.Problem) {
	own, problems := j.Parser.OfApplication(w.Object().Namespace, w.App.Metadata.Annotations)
	return s.After.And(own).And(j.afterOf(w.lender)), problems
}

// afterOf is what an ApplicationSet comes after; nothing without one.
func (j *Judge) afterOf(lender *argocd.ApplicationSet) (after settings.After) {
	if lender != nil {
		after, _ = j.Parser.OfApplication(lender.Namespace, lender.Annotations)
	}
	return after
}

// Input is what is known about a write without a read and without the past, as a member of an ApplicationSet with these
// Settings; nil if there is none. after is what its Application comes after.
func (j *Judge) Input(
	w *Write, set *policy.ApplicationSet, s settings.Settings, after settings.After,
) policy.Input {
	in := policy.Input{
		Target: w.Target, ApplicationSet: set, Settings: s.Settings, Now: j.Clock.Now(), Window: j.window(w),
		StartedBy: j.startedBy(w),
	}
	in.Settings.Candidates = j.candidates(s.Candidates, w.App.AutoSyncs())
	in.Settings.Follows = after.Waits()
	in.Evidence = j.KnownEvidence(s)
	return in
}

// candidates reports whether an Application may deploy an older revision than the compared one, where that is wanted. After
// such a sync the ApplicationSet controller never asks for another one until the next commit: it takes the Application
// for Progressing (argo-cd v3.5.7, UpdateApplicationSetApplicationStatus in
// applicationset/progressivesync/progressive_sync.go). So where Argo CD does not sync it by itself, stepgate has to
// start syncs.
func (j *Judge) candidates(wanted, automated bool) bool {
	return wanted && (j.Config.Start || automated)
}

// startedBy is the person who starts a sync; empty if a controller of Argo CD does. Only argocd-server is believed
// who that is.
func (j *Judge) startedBy(w *Write) string {
	switch {
	case w.Target.Operation.Automated:
		return ""
	case slices.Contains(j.Config.ServerAccounts, w.User) && w.InitiatedBy != "":
		return w.InitiatedBy
	}
	return w.User
}

// Repeats reports whether an operation repeats a sync that has run in its turn, in whatever step. A pinned repetition
// deploys nothing new, and so the rule has nothing against it. But it runs as a sync, and the next step waits for it.
func (j *Judge) Repeats(in policy.Input) bool {
	return j.Config.Hold && in.ApplicationSet != nil && policy.Repeated(in)
}
