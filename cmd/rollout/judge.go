// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Judge tells where the rollout of an ApplicationSet is, by what is known.
func Judge(o *outlook.Outlook) *Rollout { return rolloutOf(o, "") }

// rolloutOf is Judge, also of an Application that no ApplicationSet controls, by its name.
func rolloutOf(o *outlook.Outlook, alone string) *Rollout {
	set := o.Set
	r := &Rollout{
		TypeMeta:  metav1.TypeMeta{APIVersion: APIVersion, Kind: "Rollout"},
		Namespace: set.Namespace, Name: set.Name, Phase: Ungated, Waves: set.Waves,
	}
	r.Open = o.Settings.Mode != settings.Enforce
	r.Exempt, r.Problems = exempt(o.Settings), o.Settings.ProblemTexts()
	r.After = after(o, alone)
	for _, p := range o.AfterProblems(alone) {
		r.Problems = append(r.Problems, p.Annotation+": "+p.Text)
	}
	j := &judgment{
		Outlook: o, waiting: o.ToCome(), unmet: map[string][]policy.Decision{}, blockers: map[string]policy.Blocker{},
		failed: map[string]bool{},
	}
	r.waitAfter(j.waiting)
	j.needs = o.Needs()
	by := wavesOf(o)
	r.Needs = needsOf(j.needs.All, o.Set, by)
	for i := range r.Needs {
		r.Needs[i].open = r.Open
	}
	for i := range j.needs.All {
		if n := &j.needs.All[i]; n.Reason == policy.OperationFailed {
			j.failed[n.Application] = true
		}
	}
	if !set.Ordered() {
		if len(r.After) > 0 {
			r.without = j.without()
		}
		return r
	}
	for name, s := range j.waiting {
		d := s.Decision
		j.unmet[name] = o.Unmet(s)
		if d.Reason == policy.MaxUpdateReached { // who has a slot may be done for later steps
			j.unmet[name] = append(j.unmet[name], d)
			continue
		}
		for _, b := range d.Blockers {
			// One that soaks is done, and has to prove itself for longer. One of no step is of what it comes after.
			if b.Reason != policy.Soaking && b.Step >= 0 {
				j.blockers[b.Application] = b
			}
		}
	}
	if problem := o.SlotsProblem(); problem != "" {
		r.Problems = append(r.Problems, problem)
	}
	j.newest = newest(o.Applications)
	r.Steps = stepsOf(set, by)
	for _, p := range o.Applications {
		r.sources = append(append(r.sources, p.Application.Compared...), p.Application.Ran...)
		at := set.StepOf(p.Application.Labels)
		if at < 0 {
			r.Unselected = append(r.Unselected, p.Name)
			continue
		}
		step := &r.Steps[by.number(at)-1]
		step.Applications = append(step.Applications, j.application(&p.Application, at))
	}
	for _, b := range policy.Missing(o.Input) {
		missing := Application{Name: b.Application}
		if set.RollingSync {
			missing.Believed = believed(set.Recorded[b.Application])
		}
		missing.because(b)
		step := &r.Steps[by.number(b.Step)-1]
		step.Applications = append(step.Applications, missing)
	}
	for i := range r.Steps {
		r.Steps[i].Conditions = j.conditions(r.Steps[i].rule)
	}
	r.Starves = j.starves()
	r.sum(j)
	r.Revisions = revisions(o.Applications)
	r.Track, r.older = o.Settings.Track, o.Settings.Candidates
	return r
}

// judgment is what a Rollout is made from.
type judgment struct {
	*outlook.Outlook
	// waiting are the syncs that are to come, by the name of the Application.
	waiting map[string]*outlook.Sync
	// unmet are the conditions that do not hold for these syncs.
	unmet map[string][]policy.Decision
	// blockers hold up at least one sync to come.
	blockers map[string]policy.Blocker
	needs    outlook.Needs
	// failed are the Applications whose sync has failed and that nobody starts again.
	failed map[string]bool
	// newest are the last comparisons, by the key of the source.
	newest map[string]comparison
}

// without are Applications that are in no step because there are none.
func (j *judgment) without() (all []Application) {
	for _, p := range j.Applications {
		all = append(all, j.state(&p.Application))
	}
	return all
}

// Shown is an Application of a rollout, and its step; nil where there are no steps. Both are nil for one that no step
// selects, and where nothing comes before.
func (r *Rollout) Shown(name string) (a *Application, step *Step) {
	is := func(a Application) bool { return a.Name == name }
	for i := range r.Steps {
		if k := slices.IndexFunc(r.Steps[i].Applications, is); k >= 0 {
			return &r.Steps[i].Applications[k], &r.Steps[i]
		}
	}
	if k := slices.IndexFunc(r.without, is); k >= 0 {
		return &r.without[k], nil
	}
	return nil, nil
}

// sum counts what is done, and finds the current step.
func (r *Rollout) sum(j *judgment) {
	r.Phase = Complete
	var since time.Time
	for i := range r.Steps {
		step := &r.Steps[i]
		for _, a := range step.Applications {
			r.Total++
			if a.Done {
				step.Done++
				r.Done++
				continue
			}
			if t := j.Set.Recorded[a.Name].TransitionedAt; a.Believed != nil && a.Believed.Status != "Healthy" &&
				(since.IsZero() || t.Before(since)) {
				since = t
			}
			if r.Step == 0 {
				r.Step = step.Number
			}
		}
	}
	r.Since = timeOf(since)
	if r.Step > 0 {
		r.Phase = r.Steps[r.Step-1].phase()
	}
}

// phase tells the phase of a rollout from its current step.
func (s *Step) phase() Phase {
	for _, a := range s.Applications {
		if !a.Done && (a.Syncing || a.Reason == string(policy.NotHealthy) &&
			a.Health == "Progressing" || a.ends.Stale()) {
			return Progressing
		}
	}
	return Waiting
}

// exempt says what the gate leaves alone in an ApplicationSet now.
func exempt(s settings.Settings) []string {
	var all []string
	switch {
	case s.NoGate != "":
		all = append(all, "nothing is held or denied: "+s.NoGate)
	case s.Mode != settings.Enforce:
		all = append(all, "mode "+s.Mode.String()+": nothing is held or denied")
	}
	if s.Bypassed {
		all = append(all, "bypass "+s.Bypass)
	}
	if s.Exclusion != "" {
		all = append(all, "excluded: "+s.Exclusion)
	}
	return all
}

// conditions are those of a 0-based step, of all its syncs that are to come. Where none is, there are those that hold
// for the first Application, and the pause.
func (j *judgment) conditions(step int) []Condition {
	var all []Condition
	var first *argocd.Projection
	waits := false
	for _, p := range j.Applications {
		if j.Set.StepOf(p.Application.Labels) != step || policy.NotCounted(j.Input, &p.Application) != "" {
			continue
		}
		s := j.waiting[p.Name]
		is := s != nil && s.Outcome == policy.Deny && s.Reason != policy.AlreadySynced
		if is && !waits || first == nil {
			first, waits = p, is
		}
		if !is {
			continue
		}
		for _, d := range j.unmet[p.Name] {
			c := unmet(d)
			c.Applications = []string{p.Name}
			all = append(all, c)
		}
	}
	if first != nil {
		next, d, is := j.Next(first), policy.Decision{}, false
		if s := j.waiting[first.Name]; s != nil {
			d, is = s.Decision, true
		}
		all = append(all, met(next.Deploying(), d, is, j.unmet[first.Name])...)
	}
	if c := &j.Input.Settings; !waits && c.Conditions.Paused.Has(step) && !c.Bypassed && !c.Off {
		all = append(all, unmet(policy.Decision{
			Reason: policy.Paused, ApplicationSet: j.Set.Namespace + "/" + j.Set.Name, Step: step,
			Detail: policy.Printable(c.Conditions.PausedWhy, mostText),
		}))
	}
	return together(all)
}
