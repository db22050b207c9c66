// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/outlook"
)

// next adds to a Log what an Outlook shows.
type next struct {
	*ledger.Log
	o       *outlook.Outlook
	now     time.Time
	members []member
	told    []func(Told)
}

// member is an Application of a step, from 0.
type member struct {
	*argocd.Projection
	step int
}

func (n *next) look() {
	for _, p := range n.o.Applications {
		if step := n.o.Set.StepOf(p.Application.Labels); step >= 0 &&
			policy.NotCounted(n.o.Input, &p.Application) == "" {
			n.members = append(n.members, member{p, step})
		}
	}
	for _, m := range n.members {
		n.open(m)
	}
	for i := range n.Rollouts {
		if r := &n.Rollouts[i]; r.EndedAt.IsZero() {
			n.goOn(r, n.Rollouts[i+1:])
		}
	}
	n.waits()
}

// shown are the sources by which people know what is deployed: the dry ones, if there are any.
func shown(all []policy.Source) []policy.Source {
	dry := slices.DeleteFunc(slices.Clone(all), func(s policy.Source) bool {
		return !strings.HasPrefix(s.Key, policy.DryPrefix)
	})
	if len(dry) > 0 {
		return dry
	}
	return all
}

// sync is a sync of an Application that has started.
type sync struct {
	sources []policy.Source
	at      time.Time
	// earlier are the sources that the Application ran before, oldest first. What is repeated is there as well.
	earlier []policy.Source
	// failed is when it ended in vain.
	failed time.Time
	phase  string
}

// syncs are the last full sync, and the one under way.
func (m member) syncs() (all []sync) {
	a := &m.Application
	if full := &a.LastFull; !full.StartedAt.IsZero() {
		s := sync{at: full.StartedAt, phase: full.Phase}
		switch {
		case full.AtCompared:
			s.sources = a.Compared
		case full.Phase == "Succeeded":
			s.sources = a.LastSync.Sources(a.Compared)
		default:
			s.sources = full.Other
		}
		s.earlier = a.Ran
		if full.Phase != "Succeeded" {
			s.failed = full.FinishedAt
		} else if !full.StartedAt.After(a.LastSync.Since) {
			s.earlier = m.earlier(s.sources)
		}
		all = append(all, s)
	}
	if a.LastOperation.Running() && len(m.Deploys) > 0 {
		all = append(all, sync{sources: m.Deploys, at: a.LastOperation.StartedAt, earlier: a.Ran})
	}
	return all
}

// earlier is what an Application has run before its newest entry of the history, if that has these sources, oldest first.
func (m member) earlier(sources []policy.Source) []policy.Source {
	ran := m.Application.Ran
	if from := len(ran) - len(sources); from >= 0 && slices.Equal(ran[from:], sources) {
		return ran[:from]
	}
	return ran
}

// open begins the rollouts of what an Application was compared with, or has started, and that is new to it.
func (n *next) open(m member) {
	a := &m.Application
	if a.SyncStatus == "OutOfSync" && a.SpecCompared {
		earlier := m.earlier(a.Compared)
		for _, s := range shown(a.Compared) {
			if r := n.rollout(s); r == nil && !slices.Contains(earlier, s) {
				n.begin(s, a.ReconciledAt, false)
			}
		}
	}
	for _, sync := range m.syncs() {
		for _, s := range shown(sync.sources) {
			n.start(m, s, sync.at, sync.earlier)
		}
	}
}

// start begins the rollout of a source that has started, or the one that goes back to it. earlier is what the
// Application ran before.
func (n *next) start(m member, s policy.Source, at time.Time, earlier []policy.Source) {
	r, had := n.rollout(s), slices.Contains(earlier, s)
	last := lastOf(earlier, s.Key)
	switch {
	case r == nil && !had:
		r = n.begin(s, at, false)
	case (r == nil || !r.EndedAt.IsZero() && at.After(r.EndedAt)) && had && last != s:
		r = n.begin(s, at, true)
	}
	if r == nil || r.Back && at.Before(r.ComparedAt) {
		return
	}
	step := n.step(r, m.step)
	r.StartedAt, step.StartedAt = first(r.StartedAt, at), first(step.StartedAt, at)
	if by := m.Application.LastSync.By; by != "" && m.ByHand.Equal(at) && len(step.By) < ledger.MostPeople &&
		!slices.Contains(step.By, by) {
		step.By = append(step.By, ledger.Text(by))
	}
}

// lastOf is the newest source of a key.
func lastOf(all []policy.Source, key string) policy.Source {
	for _, s := range slices.Backward(all) {
		if s.Key == key {
			return s
		}
	}
	return policy.Source{}
}

// rollout is the newest one of a source at its revision; nil if there is none.
func (n *next) rollout(s policy.Source) *ledger.Rollout {
	for i := range slices.Backward(n.Rollouts) {
		if r := &n.Rollouts[i]; r.Revision == ledger.Text(s.Revision) && r.Source == ledger.Text(s.Key) {
			return r
		}
	}
	return nil
}

// begin begins a rollout; it is nil if that began before the Log.
func (n *next) begin(s policy.Source, at time.Time, back bool) *ledger.Rollout {
	if s.Revision == "" || !at.After(n.Since) {
		return nil
	}
	n.Rollouts = append(n.Rollouts, ledger.Rollout{
		Source: ledger.Text(s.Key), Revision: ledger.Text(s.Revision), ComparedAt: at, Back: back, Steps: []ledger.Step{},
	})
	return &n.Rollouts[len(n.Rollouts)-1]
}

// step is a step, from 0, of a rollout. Of more than ledger.MostSteps, nothing is kept of those that come late.
func (*next) step(r *ledger.Rollout, step int) *ledger.Step {
	at, found := slices.BinarySearchFunc(r.Steps, step+1, func(s ledger.Step, n int) int { return s.Step - n })
	if !found && len(r.Steps) == ledger.MostSteps {
		return &ledger.Step{Step: step + 1}
	}
	if !found {
		r.Steps = slices.Insert(r.Steps, at, ledger.Step{Step: step + 1})
	}
	return &r.Steps[at]
}

// first is the earlier one of two times of which the first may be unknown.
func first(known, other time.Time) time.Time {
	if known.IsZero() || other.Before(known) {
		return other
	}
	return known
}

// goOn adds what has become of a rollout that is under way. later are those that have begun after it.
func (n *next) goOn(r *ledger.Rollout, later []ledger.Rollout) {
	source := policy.Source{Key: r.Source, Revision: r.Revision}
	all := map[int]*tally{}
	for _, m := range n.members {
		if !m.deploys(source.Key) {
			continue
		}
		t := all[m.step]
		if t == nil {
			t = &tally{}
			all[m.step] = t
		}
		t.of++
		if at, done := n.done(m, r, source); done {
			t.done, t.last = t.done+1, latest(t.last, at)
		} else if n.passed(m, later) {
			t.passed++
		}
		n.failures(m, n.step(r, m.step), r, source)
	}
	open, skipped := false, false
	for step, t := range all {
		s := n.step(r, step)
		n.count(r, s, t)
		open, skipped = open || s.CompletedAt.IsZero() && !s.Skipped, skipped || s.Skipped
		n.said(s, step, source)
	}
	if n.o.Settings.Bypassed && len(r.Bypasses) < ledger.MostWaits {
		why := ledger.Text(n.o.Settings.Bypass)
		if !slices.ContainsFunc(r.Bypasses, func(b ledger.Bypass) bool { return b.Why == why }) {
			r.Bypasses = append(r.Bypasses, ledger.Bypass{Why: why, At: n.now})
		}
	}
	if len(all) > 0 && !open {
		n.end(r, skipped)
	}
}

// tally counts the Applications of a step.
type tally struct {
	of, done, passed int
	// last is when the last one was done.
	last time.Time
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// count counts the Applications of a step that are done.
func (n *next) count(r *ledger.Rollout, s *ledger.Step, t *tally) {
	s.Applications, s.Done = t.of, max(s.Done, t.done)
	switch {
	case !s.CompletedAt.IsZero() || s.Skipped || t.done+t.passed < t.of:
	case t.passed > 0:
		s.Skipped = true
	default:
		// Who was deployed and Healthy before needed no sync.
		s.CompletedAt = latest(latest(t.last.Truncate(time.Second), r.ComparedAt), s.StartedAt)
		step, took := policy.StepNumber(s.Step-1), s.CompletedAt.Sub(r.ComparedAt)
		n.told = append(n.told, func(to Told) { to.Completed(step, took) })
	}
}

// end ends a rollout.
func (n *next) end(r *ledger.Rollout, skipped bool) {
	r.Result, r.EndedAt = ledger.Complete, r.ComparedAt
	for i := range r.Steps {
		r.EndedAt = latest(r.EndedAt, r.Steps[i].CompletedAt)
		n.wait(&r.Steps[i], nil)
	}
	if skipped {
		r.Result, r.EndedAt = ledger.Superseded, n.now
	}
	result := r.Result
	n.told = append(n.told, func(to Told) { to.Ended(result) })
}

// deploys reports whether an Application has a source.
func (m member) deploys(key string) bool {
	return slices.ContainsFunc(m.Application.Compared, func(s policy.Source) bool { return ledger.Text(s.Key) == key })
}

// done reports whether an Application has completed a rollout, and since when it was deployed and Healthy: now if that is
// not known.
func (n *next) done(m member, r *ledger.Rollout, source policy.Source) (at time.Time, done bool) {
	for _, c := range slices.Backward(n.o.Input.History.Past(m.Name).Completions) {
		if slices.Contains(c.Sources, source) && !c.Doubted && (!r.Back || !c.OperatedAt.Before(r.StartedAt)) {
			if c.Since.IsZero() {
				return n.now, true
			}
			return c.Since, true
		}
	}
	return time.Time{}, false
}

// passed reports whether an Application has completed something newer.
func (n *next) passed(m member, later []ledger.Rollout) bool {
	for i := range later {
		r := &later[i]
		if _, done := n.done(m, r, policy.Source{Key: r.Source, Revision: r.Revision}); done {
			return true
		}
	}
	return false
}

// failures adds that an Application has failed with a rollout, or has not any more.
func (n *next) failures(m member, s *ledger.Step, r *ledger.Rollout, source policy.Source) {
	what, at := m.fails(source)
	known := slices.IndexFunc(s.Failures, func(f ledger.Failure) bool {
		return f.Application == m.Name && f.RepairedAt.IsZero()
	})
	step := policy.StepNumber(s.Step - 1)
	switch {
	case what != "" && known < 0 && len(s.Failures) < ledger.MostFailures && !at.Before(r.ComparedAt):
		s.Failures = append(s.Failures, ledger.Failure{Application: m.Name, What: what, At: at})
		n.told = append(n.told, func(to Told) { to.Failed(step) })
	case what == "" && known >= 0:
		f := &s.Failures[known]
		f.RepairedAt = n.now
		took := f.RepairedAt.Sub(f.At)
		n.told = append(n.told, func(to Told) { to.Repaired(step, took) })
	}
}

// fails says how an Application has failed with a source, and when; empty if it has not.
func (m member) fails(source policy.Source) (what string, at time.Time) {
	a := &m.Application
	for _, s := range m.syncs() {
		if !s.failed.IsZero() && slices.Contains(s.sources, source) {
			return "its sync has failed", s.failed
		}
	}
	if a.Health == "Degraded" && slices.Contains(a.LastSync.Sources(a.Compared), source) {
		return "it is Degraded", a.HealthSince
	}
	return "", time.Time{}
}

// said adds who has approved a step for a source, and what the evidence says.
func (n *next) said(s *ledger.Step, step int, source policy.Source) {
	whats := []string{source.Revision}
	for _, m := range n.members {
		if what := policy.ApprovalOf(m.Application.Compared); m.step == step &&
			slices.Contains(m.Application.Compared, source) && !slices.Contains(whats, what) {
			whats = append(whats, what)
		}
	}
	for _, a := range n.o.Settings.Conditions.Approved {
		approval := ledger.Approval{By: ledger.Text(a.By), At: a.At}
		if a.Step == step && slices.Contains(whats, a.What) && len(s.Approvals) < ledger.MostPeople &&
			!slices.ContainsFunc(s.Approvals, func(b ledger.Approval) bool {
				return b.By == approval.By && b.At.Equal(a.At)
			}) {
			s.Approvals = append(s.Approvals, approval)
		}
	}
	if n.o.Input.Evidence == nil {
		return
	}
	for _, v := range n.o.Settings.Conditions.Verify.Of {
		if v.Step != step {
			continue
		}
		for _, what := range whats {
			n.evidence(s, v, n.o.Input.Evidence(v, what))
		}
	}
}

// evidence adds an answer, or replaces another one of the same object.
func (*next) evidence(s *ledger.Step, v policy.Verification, found policy.Finding) {
	if found.Answer == policy.NoAnswer {
		return
	}
	e := ledger.Evidence{Object: ledger.Text(v.Object), Answer: "yes", Detail: ledger.Text(found.Detail), At: found.At}
	if found.Answer == policy.No {
		e.Answer = "no"
	}
	at := slices.IndexFunc(s.Evidence, func(other ledger.Evidence) bool { return other.Object == e.Object })
	switch {
	case at >= 0:
		s.Evidence[at] = e
	case len(s.Evidence) < ledger.MostPeople:
		s.Evidence = append(s.Evidence, e)
	}
}

// waits adds what the steps of the rollouts that are under way wait for.
func (n *next) waits() {
	if !slices.ContainsFunc(n.Rollouts, func(r ledger.Rollout) bool { return r.EndedAt.IsZero() }) {
		return
	}
	type place struct {
		rollout *ledger.Rollout
		step    int
	}
	waits, needs := map[place]*policy.Need{}, n.o.Needs()
	for _, m := range n.members {
		sync := n.o.ToCome()[m.Name]
		at, known := needs.First[m.Name]
		if sync == nil || !known || at == len(needs.All) { // it waits for nothing that has a name
			continue
		}
		for _, s := range shown(sync.Newest.Sources) {
			r := n.rollout(s)
			if r == nil || !r.EndedAt.IsZero() {
				continue
			}
			p, need := place{r, m.step}, &needs.All[at].Need
			if other := waits[p]; other == nil || policy.CompareNeeds(need, other) < 0 {
				waits[p] = need
			}
		}
	}
	for i := range n.Rollouts {
		r := &n.Rollouts[i]
		for at, need := range waits {
			if at.rollout == r {
				n.wait(n.step(r, at.step), need)
			}
		}
		for j := range r.Steps {
			if s := &r.Steps[j]; waits[place{r, s.Step - 1}] == nil {
				n.wait(s, nil)
			}
		}
	}
}

// wait has a step wait for a need, and for nothing else; nil is nothing.
func (n *next) wait(s *ledger.Step, need *policy.Need) {
	if i := len(s.Waits) - 1; i >= 0 && s.Waits[i].Until.IsZero() {
		if need != nil && s.Waits[i].For == ledger.Text(need.Text) {
			return
		}
		s.Waits[i].Until = n.now
		if !s.Waits[i].Since.Before(n.now) {
			s.Waits = s.Waits[:i]
		}
	}
	if need == nil {
		return
	}
	if len(s.Waits) == ledger.MostWaits {
		shortest := 0
		for i := range s.Waits {
			if s.Waits[i].Took(n.now) < s.Waits[shortest].Took(n.now) {
				shortest = i
			}
		}
		s.Waits = slices.Delete(s.Waits, shortest, shortest+1)
	}
	s.Waits = append(s.Waits, ledger.Wait{Reason: string(need.Reason), For: ledger.Text(need.Text), Since: n.now})
}
