// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Proposal is what an approval of one step would approve.
type Proposal struct {
	// Step is the number that people call the step by: from 1 on, or the sync wave.
	Step int
	// Entries are what its Applications would deploy, most Applications first.
	Entries []Deployment
	// Current is what may still be approved in the step, beside Entries: what any of its Applications is compared with.
	Current []string
	// Waits are the other conditions for which the step waits.
	Waits []Condition
	// Warnings say why the approval may not do what is expected.
	Warnings []string
	rollout  *Rollout
	step     *Step
	// asked are the answers of the gate.
	asked map[string]Candidates
}

// Deployment is something to be approved.
type Deployment struct {
	// What is the text of policy.ApprovalOf.
	What string
	// Revisions are what it stands for, one for each source; empty if no Application is compared with it.
	Revisions []string
	// Applications are those that would deploy it, and Running are the revisions that they run, each once.
	Applications, Running []string
	// Approved says by whom and when it is approved already; empty if it is not.
	Approved string
}

// Propose finds out what to approve: what the Applications of a step would deploy, or exactly a revision. number is what
// people call the step by; nil stands for the step that waits for an approval now. ask is nil where Applications deploy
// only what they were compared with.
func Propose(o *outlook.Outlook, ask Ask, number *int, revision string) (*Proposal, error) {
	set, r := o.Set, Judge(o)
	name, approve := policy.Called(set.Namespace+"/"+set.Name), o.Settings.Conditions.Approve
	if r.Phase == Ungated {
		return nil, fmt.Errorf("%s has no steps of RollingSync", name)
	}
	if number == nil && !approve.All && len(approve.Of) == 0 {
		return nil, fmt.Errorf("no %s of %s needs an approval: the annotation %s is not set", r.kind(), name,
			settings.ApproveAnnotation)
	}
	step, err := r.proposed(set, number)
	if err != nil {
		return nil, err
	}
	if !approve.Has(step.rule) {
		text, annotated := set.Annotations.Get(settings.ApproveAnnotation)
		if !annotated {
			return nil, fmt.Errorf("%s of %s needs no approval: the annotation %s is not set", step.Name(), name,
				settings.ApproveAnnotation)
		}
		return nil, fmt.Errorf("%s of %s needs no approval: the annotation %s is %q", step.Name(), name,
			settings.ApproveAnnotation, text)
	}
	p := &Proposal{asked: map[string]Candidates{}, Step: step.Called(), rollout: r, step: step}
	for _, c := range notMet(step.Conditions) {
		if c.Reason != string(policy.NotApproved) {
			p.Waits = append(p.Waits, c)
		}
	}
	apps := slices.DeleteFunc(slices.Clone(o.Applications), func(a *argocd.Projection) bool {
		return set.StepOf(a.Application.Labels) != step.rule || policy.NotCounted(o.Input, &a.Application) != ""
	})
	if revision != "" {
		return p.of(o, apps, ask, revision)
	}
	return p.ofAll(o, apps, ask)
}

// NumberedStep is the 0-based step that people call by a number. The error says which there are.
func NumberedStep(set *argocd.ApplicationSet, number int) (int, error) {
	step, err := set.Step(number)
	if err != nil {
		named := policy.Called(set.Namespace+"/"+set.Name) + " has"
		return 0, errors.New(strings.Replace(err.Error(), "the ApplicationSet has", named, 1))
	}
	return step, nil
}

// called is what people call what orders the Applications.
func (r *Rollout) called() string { return policy.Called(r.Namespace + "/" + r.Name) }

// proposed is the step that people call by a number, or else the one that waits for an approval now.
func (r *Rollout) proposed(set *argocd.ApplicationSet, number *int) (*Step, error) {
	if number == nil {
		return r.toApprove()
	}
	rule, err := NumberedStep(set, *number)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.rule == rule })
	if i < 0 {
		return nil, fmt.Errorf("%s has no Application in %s", r.called(), policy.StepName(rule))
	}
	return &r.Steps[i], nil
}

// toApprove is the step that waits for an approval and for no earlier step, or else the only one that waits for an
// approval.
func (r *Rollout) toApprove() (*Step, error) {
	var all, now []*Step
	var numbers []string
	for i := range r.Steps {
		step := &r.Steps[i]
		if !slices.ContainsFunc(step.Conditions, func(c Condition) bool {
			return !c.Met && c.Reason == string(policy.NotApproved)
		}) {
			continue
		}
		all, numbers = append(all, step), append(numbers, strconv.Itoa(step.Called()))
		if step.Number <= r.Step {
			now = append(now, step)
		}
	}
	name := r.called()
	switch {
	case len(now) == 1:
		return now[0], nil
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return nil, fmt.Errorf(
			"no %s of %s waits for an approval now; --step and --revision approve something in advance",
			r.kind(), name,
		)
	}
	return nil, fmt.Errorf("%ss %s of %s wait for an approval: name one with --step", r.kind(),
		strings.Join(numbers, ", "), name)
}

// ofAll proposes what the Applications of the step would deploy.
func (p *Proposal) ofAll(o *outlook.Outlook, apps []*argocd.Projection, ask Ask) (*Proposal, error) {
	waiting, approved := o.ToCome(), o.Settings.Conditions.Approved
	name := p.step.Name() + " of " + policy.Called(o.Set.Namespace+"/"+o.Set.Name)
	var uncompared []string
	for _, app := range apps {
		next := o.Next(app)
		in := next.Deploying()
		what := policy.ApprovalOf(in.Target.Wanted)
		if !in.Target.SpecCompared || what == "" {
			uncompared = append(uncompared, app.Name)
			continue
		}
		if !slices.Contains(p.Current, what) {
			p.Current = append(p.Current, what)
		}
		if s := waiting[app.Name]; s == nil || s.Reason == policy.AlreadySynced {
			continue
		}
		revisions := revisionsOf(in.Target.Wanted)
		if c := p.candidates(ask, app).ToApprove(); c != nil {
			what, revisions = approvalOf(c), c.Revisions
		}
		entry := p.entry(what)
		entry.add(app, revisions)
		needs := slices.ContainsFunc(o.Unmet(&next), func(d policy.Decision) bool { return d.Reason == policy.NotApproved })
		i := slices.IndexFunc(approved, func(a policy.Approval) bool { return a.Step == p.step.rule && a.What == what })
		if needs || i < 0 {
			entry.Approved = "-"
		} else if entry.Approved == "" {
			entry.Approved = "by " + policy.Printable(approved[i].By, mostName) + " at " + moment(approved[i].At)
		}
	}
	for i := range p.Entries {
		p.Entries[i].Approved = strings.TrimPrefix(p.Entries[i].Approved, "-")
	}
	switch {
	case len(uncompared) > 0:
		return nil, fmt.Errorf(
			"%s cannot be approved yet: Argo CD has not compared %s; argocd app get %s --refresh has it do so", name,
			listed(uncompared), uncompared[0],
		)
	case len(p.Entries) == 0:
		return nil, fmt.Errorf(
			"%s has nothing to deploy: no sync of it is to come; --revision approves something in advance", name,
		)
	}
	slices.SortStableFunc(p.Entries, func(a, b Deployment) int {
		return cmp.Compare(len(b.Applications), len(a.Applications))
	})
	return p, nil
}

// shortestPrefix is how much of a revision has to be given that an Application is compared with.
const shortestPrefix = 4

// of proposes exactly a revision, or the one whose beginning it is.
func (p *Proposal) of(o *outlook.Outlook, apps []*argocd.Projection, ask Ask, revision string) (*Proposal, error) {
	if strings.ContainsAny(revision, ", \t\n") {
		return nil, fmt.Errorf("--revision: %q is not a revision", revision)
	}
	found := map[string]*Deployment{}
	for _, app := range apps {
		next := o.Next(app)
		in := next.Deploying()
		what := policy.ApprovalOf(in.Target.Wanted)
		if what == "" {
			continue
		}
		if !slices.Contains(p.Current, what) {
			p.Current = append(p.Current, what)
		}
		is := func(text string) bool {
			return text == revision || len(revision) >= shortestPrefix && strings.HasPrefix(text, revision)
		}
		deploys := map[string][]string{what: revisionsOf(in.Target.Wanted)}
		for _, c := range p.candidates(ask, app) {
			deploys[approvalOf(&c)] = c.Revisions
		}
		for text, revisions := range deploys {
			if is(text) {
				if found[text] == nil {
					found[text] = &Deployment{What: text}
				}
				found[text].add(app, revisions)
			}
		}
	}
	if exact := found[revision]; exact != nil {
		found = map[string]*Deployment{revision: exact}
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("--revision: several revisions begin with %s; write more of it", revision)
	}
	for _, one := range found {
		p.Entries = append(p.Entries, *one)
		return p, nil
	}
	p.Entries = []Deployment{{What: revision}}
	p.Warnings = append(p.Warnings, fmt.Sprintf(
		"No Application of %s is compared with %s, and none has it as a candidate. The approval counts once Argo CD "+
			"compares one with exactly this text: write the whole commit, as git rev-parse prints it.", p.step.Name(), revision))
	return p, nil
}

// candidates are those of an Application, as the gate says; none if it is not asked. Applications that run and were
// compared with the same have the same ones. Approvals of them stay.
func (p *Proposal) candidates(ask Ask, app *argocd.Projection) Candidates {
	if ask == nil {
		return nil
	}
	alike := fmt.Sprint(app.Application.Compared, app.Application.Ran)
	all, known := p.asked[alike]
	if !known {
		all = ask(app.Name)
		p.asked[alike] = all
	}
	for i := range all {
		if text := approvalOf(&all[i]); !slices.Contains(p.Current, text) {
			p.Current = append(p.Current, text)
		}
	}
	return all
}

func (p *Proposal) entry(what string) *Deployment {
	i := slices.IndexFunc(p.Entries, func(e Deployment) bool { return e.What == what })
	if i < 0 {
		p.Entries = append(p.Entries, Deployment{What: what})
		i = len(p.Entries) - 1
	}
	return &p.Entries[i]
}

// add adds an Application that would deploy it.
func (e *Deployment) add(app *argocd.Projection, revisions []string) {
	e.Applications, e.Revisions = append(e.Applications, app.Name), revisions
	ran := app.Application.Ran
	for _, s := range ran[max(0, len(ran)-len(revisions)):] {
		if s.Revision != "" && !slices.Contains(e.Running, s.Revision) {
			e.Running = append(e.Running, s.Revision)
		}
	}
}
