// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// Collection is what an audit keeps of ApplicationSets and Applications: the steps, and the syncs on record. The zero
// value is empty.
type Collection struct {
	sets         map[string]*set // by UID
	withoutSteps int
}

// AddSet keeps an ApplicationSet, if it has a RollingSync strategy with steps, or waves.
func (c *Collection) AddSet(object *argo.ApplicationSet) {
	known := argocd.NewApplicationSet(object)
	if !known.Ordered() {
		c.withoutSteps++
		return
	}
	if c.sets == nil {
		c.sets = map[string]*set{}
	}
	c.sets[known.UID] = &set{rule: &known.ApplicationSet}
}

// Sets are the namespaces of the ApplicationSets that are kept, by their UID.
func (c *Collection) Sets() map[types.UID]string {
	all := make(map[types.UID]string, len(c.sets))
	for uid, s := range c.sets {
		all[types.UID(uid)] = s.rule.Namespace
	}
	return all
}

// AddApplication keeps the syncs of an Application, if its ApplicationSet was added before. It keeps no part of the
// object itself.
func (c *Collection) AddApplication(app *argo.Application) {
	owner := metav1.GetControllerOf(app)
	if owner == nil || c.sets[string(owner.UID)] == nil {
		return
	}
	s := c.sets[string(owner.UID)]
	s.applications = append(s.applications, recordOf(app, s.rule))
}

// Options are what to look at.
type Options struct {
	// Now is the time of the report.
	Now time.Time
	// Context is the context of the kubeconfig.
	Context string
	// Since is how far to look back; zero looks at all.
	Since time.Duration
	// Logs are those of stepgate's ledger, by the UID of the ApplicationSet.
	Logs map[types.UID]*ledger.Log
}

// Report judges all that was collected.
func (c *Collection) Report(o Options) *Report {
	r := &Report{
		TypeMeta: metav1.TypeMeta{APIVersion: "cli.stepgate.io/v1alpha1", Kind: "Audit"},
		MadeAt:   metav1.NewTime(o.Now.UTC().Truncate(time.Second)), Context: o.Context, WithoutSteps: c.withoutSteps,
		ApplicationSets: []ApplicationSet{},
	}
	var since time.Time
	if o.Since > 0 {
		since = r.MadeAt.Add(-o.Since)
		r.Since = timeOf(since)
	}
	for uid, s := range c.sets {
		r.ApplicationSets = append(r.ApplicationSets, s.report(since, o.Logs[types.UID(uid)]))
	}
	slices.SortFunc(r.ApplicationSets, func(a, b ApplicationSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range r.ApplicationSets {
		r.Totals.add(s.Totals)
	}
	return r
}

func (s *set) report(since time.Time, log *ledger.Log) ApplicationSet {
	a := ApplicationSet{
		Namespace: s.rule.Namespace, Name: s.rule.Name, Steps: s.steps(), Unclear: []ReasonCount{}, Rollouts: []Rollout{},
		NotComparable: s.notComparable(),
	}
	for _, app := range s.applications {
		if app.step < 0 {
			a.NotSelected++
		} else {
			a.Applications++
		}
	}
	unclear := map[Reason]int{}
	var all []Rollout
	onRecord := s.rollouts()
	for _, r := range slices.Backward(onRecord) {
		all = append(all, r.judge().report())
	}
	all = append(all, fromLedger(log, onRecord)...)
	slices.SortStableFunc(all, func(a, b Rollout) int { return b.BeganAt.Compare(a.BeganAt.Time) })
	for _, rollout := range all {
		if rollout.BeganAt.Time.Before(since) {
			continue
		}
		a.Rollouts = append(a.Rollouts, rollout)
		a.Totals.count(rollout)
		unclear[rollout.Reason]++
		if rollout.Verdict == InOrder && rollout.LeftOut > 0 {
			a.Partial++
		}
	}
	for _, reason := range reasons() {
		if n := unclear[reason]; n > 0 {
			a.Unclear = append(a.Unclear, ReasonCount{Reason: reason, Rollouts: n, Text: reason.Text()})
		}
	}
	return a
}

// notComparable counts the Applications of later steps that share no source with an earlier step.
func (s *set) notComparable() int {
	first := map[string]int{}
	for _, app := range s.applications {
		for key := range app.sources {
			if step, ok := first[key]; app.step >= 0 && (!ok || app.step < step) {
				first[key] = app.step
			}
		}
	}
	lowest, n := s.lowest(), 0
	for _, app := range s.applications {
		shares := app.step <= lowest
		for key := range app.sources {
			shares = shares || first[key] < app.step
		}
		if !shares {
			n++
		}
	}
	return n
}

// count adds a rollout.
func (t *Totals) count(r Rollout) {
	t.Rollouts++
	if r.FromLedger {
		t.FromLedger++
	}
	switch r.Verdict {
	case OutOfOrder:
		t.OutOfOrder++
	case ByHand:
		t.ByHand++
	case Unclear:
		t.Unclear++
	case InOrder:
		t.InOrder++
	default:
		t.OneStep++
	}
	for _, e := range r.Early {
		if e.Verdict == OutOfOrder && e.Seconds != nil {
			t.LongestSeconds = max(t.LongestSeconds, *e.Seconds)
		}
	}
}

func (t *Totals) add(o Totals) {
	t.Rollouts += o.Rollouts
	t.OutOfOrder += o.OutOfOrder
	t.ByHand += o.ByHand
	t.FromLedger += o.FromLedger
	t.Unclear += o.Unclear
	t.InOrder += o.InOrder
	t.OneStep += o.OneStep
	t.LongestSeconds = max(t.LongestSeconds, o.LongestSeconds)
}
