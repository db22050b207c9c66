package webhook

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/places"
	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Preview tells people what a Gate and its Mutator would do. It goes the same ways as they do, but answers no request,
// records nothing and asks nobody for a refresh. It knows less of the past than a webhook that has watched for a while,
// and is stricter then.
type Preview struct {
	judge   *judge.Judge
	gate    *Gate
	mutator *Mutator
	known   judge.KnownSets
	// places tell who has the places of steps.
	places *places.View
}

// NewPreview returns a Preview of what an installation with this configuration would do.
func NewPreview(
	config settings.Config, live judge.Evaluator, known judge.KnownSets, watch judge.Histories, clock clock.PassiveClock,
) *Preview {
	j := judge.New(config, judge.Dependencies{Live: live, Histories: watch, Clock: clock})
	gate := NewGate(j, Dependencies{})
	p := &Preview{judge: j, gate: gate, mutator: NewMutator(gate, known), known: known}
	p.LookForPlaces(nil)
	return p
}

// LookAt makes a Preview look at sync windows, too.
func (p *Preview) LookAt(windows judge.SyncWindows) { p.judge.Windows = windows }

// LookFor makes a Preview look for evidence, too.
func (p *Preview) LookFor(evidence judge.Evidence) { p.judge.Evidence = evidence }

// Settings merges the configuration with the annotations of an ApplicationSet.
func (p *Preview) Settings(set *argocd.ApplicationSet) settings.Settings {
	return p.judge.Parser.Of(set)
}

// AfterProblems are what is wrong with what an ApplicationSet comes after, or an Application that has its form.
func (p *Preview) AfterProblems(set *argocd.ApplicationSet, application string) []settings.Problem {
	return judge.AfterProblems(p.judge.Orders, p.known, judge.FollowerOf(set, application), p.Settings(set).After)
}

// NotDone is what is not done of a name that an ApplicationSet comes after, or with its name an Application, whatever was
// compared when.
func (p *Preview) NotDone(set *argocd.ApplicationSet, application string, name types.NamespacedName) []policy.Blocker {
	n := judge.NamedKnown(p.known, name)
	dep := n.Dependency(name, p.judge.Parser, func(*argocd.Projection) policy.Past {
		return policy.Past{Freshness: policy.Fresh}
	})
	in := p.Input(set, nil)
	in.Target.Name = application
	return policy.Follow(in, policy.Decision{}, []policy.Dependency{dep}, "").Blockers
}

// Input is what the rule judges the Applications of an ApplicationSet by, without a target.
func (p *Preview) Input(set *argocd.ApplicationSet, owned []*argocd.Projection) policy.Input {
	s := p.judge.Parser.Of(set)
	in := policy.Input{
		ApplicationSet: &set.ApplicationSet, Settings: s.Settings, Siblings: judge.Placed(&set.ApplicationSet, owned),
		Now: p.judge.Clock.Now(), Evidence: p.judge.KnownEvidence(s),
	}
	in.History = p.judge.Histories.History(&set.ApplicationSet, p.judge.Histories.Position(), p.judge.Histories.Position())
	return in
}

// Waiting judges, by the name of the Application, every sync that is to come: of those that are OutOfSync, or that the
// ApplicationSet's status records as Pending, and have no operation. Applications whose syncs are alike are judged
// once, and share their blockers: nobody changes these.
func (p *Preview) Waiting(set *argocd.ApplicationSet, owned []*argocd.Projection) map[string]policy.Decision {
	in, all := p.Input(set, owned), map[string]policy.Decision{}
	room, deciding := p.room(set), release.NewDeciding(p.judge, set, p.known)
	for _, app := range toSync(set, owned) {
		all[app.Name] = room(app, deciding.Of(in, app))
	}
	return all
}

// toSync are the Applications of which a sync is to come.
func toSync(set *argocd.ApplicationSet, owned []*argocd.Projection) []*argocd.Projection {
	return slices.DeleteFunc(slices.Clone(owned), func(app *argocd.Projection) bool {
		a := &app.Application
		return a.Deleting || a.OperationSet || a.LastOperation.Running() ||
			a.SyncStatus == "Synced" && !set.Recorded[a.Name].Pending
	})
}

// Answer is what would become of a write.
type Answer struct {
	policy.Decision
	Settings settings.Settings
	// Held says that the write goes ahead without its operation.
	Held bool
	// Pinned are the revisions that the operation would carry, one for each source; empty if it is not pinned.
	Pinned []string
	// Message is the text that the writer reads; empty if the write goes ahead with its operation.
	Message string
	// Input is what the Decision was made from, with the Applications as they are known; without an ApplicationSet
	// where there is none.
	Input policy.Input
}

// Rejected reports whether the operation does not go ahead.
func (a *Answer) Rejected() bool { return a.Held || a.Message != "" }

// Write judges one write, on live reads. An error means that there is no decision.
func (p *Preview) Write(ctx context.Context, req admissionv1.AdmissionRequest) (*Answer, error) {
	w, err := judge.NewWrite(req)
	if err != nil {
		return nil, err
	}
	answer, judged := &Answer{}, w
	in, changes := p.judge.Cached(w, p.known)
	var v judge.Verdict
	if changes {
		pin := p.mutator.pin(w, in)
		answer.Pinned = pin.Revisions
		judged, _ = p.mutator.stamp(w, pin)
	}
	if changes || w.Alone() {
		v, answer.Held = p.mutator.hold(ctx, w, in, judged)
	}
	if !answer.Held {
		v = p.gate.placed(ctx, judged, p.judge.Judge(ctx, judged))
	}
	if v.Err != nil {
		return nil, v.Err
	}
	answer.Decision, answer.Settings, answer.Input = v.Decision, v.Settings, p.inputOf(ctx, judged, v.ApplicationSet)
	switch {
	case answer.Held:
		answer.Message = v.HoldNote()
	case v.Rejects():
		answer.Message = v.Message()
	}
	return answer, nil
}

// inputOf is what a write is judged from as a member of one of its ApplicationSets, "namespace/name".
func (p *Preview) inputOf(ctx context.Context, w *judge.Write, name string) policy.Input {
	for _, owner := range w.Owners {
		set, err := p.judge.Live.ApplicationSet(ctx, types.NamespacedName{Namespace: w.Namespace, Name: owner.Name})
		if err != nil || set == nil || set.UID != string(owner.UID) || set.Namespace+"/"+set.Name != name {
			continue
		}
		s := p.judge.Parser.OfWrite(set, w.Claim())
		w := w.Under(s.Mode)
		in := p.judge.Input(w, p.judge.Order(ctx, w, set, s, false), s)
		in.History = p.judge.History(w, &set.ApplicationSet)
		in.Siblings = judge.Placed(&set.ApplicationSet, p.known.Owned(types.UID(set.UID)))
		return in
	}
	return policy.Input{}
}
