// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// between is how long after the commit for one step the commit for the next one lands, where they have branches of
// their own. Changes that land within two seconds have no order.
const between = 3 * time.Second

// translation is a rollout in the words of the model.
type translation struct {
	*simulation.Scenario
	// order are the 0-based steps of the rule.
	order []int
	// steps are the names of the Applications, by step.
	steps    [][]string
	branches *branches
	// unselected are in no step.
	unselected []string
	// landings name the branches on which commits land, in that order.
	landings []string
	// limits says what of the ApplicationSet is not modelled.
	limits []string
}

// translate puts a rollout into the words of the model.
func translate(r *Rollout, o Options) (*translation, error) {
	rule := argocd.NewApplicationSet(r.Set)
	t := &translation{
		Scenario: &simulation.Scenario{
			Version: o.Version, Layout: "shared", Poll: o.Poll, Replicas: 1, Jitter: o.Seed, Hashes: true, Takes: o.Healthy,
			Set: types.NamespacedName{Namespace: cmp.Or(r.Set.Namespace, "argocd"), Name: r.Set.Name},
		},
		order: orderOf(rule, r.Applications), limits: slices.Clone(r.notes),
	}
	t.steps = make([][]string, len(t.order))
	t.addSteps(rule, o)
	t.addApplications(r, o)
	if len(t.Applications) == 0 {
		return nil, fmt.Errorf(
			"no step of ApplicationSet %s selects an Application: compare spec.strategy.rollingSync.steps with the labels of "+
				"the template", r.Set.Name,
		)
	}
	if err := t.addCommits(o); err != nil {
		return nil, err
	}
	if o.Commits != nil {
		t.addTrain(r, o)
	}
	t.addConditions(r, o)
	return t, t.addByHand(o)
}

// orderOf are the 0-based steps of the rule that Applications may be in, lowest first: those of RollingSync, or the sync
// waves that there are.
func orderOf(rule *argocd.ApplicationSet, apps []*argo.Application) (all []int) {
	for i := range rule.Steps {
		all = append(all, i)
	}
	if !rule.Waves {
		return all
	}
	for _, app := range apps {
		all = append(all, rule.StepOf(argocd.Labels(app.Labels, app.Annotations)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// addSteps adds the steps. Those that are waves are limited by stepgate alone.
func (t *translation) addSteps(rule *argocd.ApplicationSet, o Options) {
	for _, step := range t.order {
		s := simulation.Step{MaxUpdate: rule.MaxUpdateOf(step)}
		if rule.Waves {
			s.Wave = new(policy.StepNumber(step))
			if s.MaxUpdate != nil && o.Mode != settings.Off {
				t.MaxUpdate = "keep"
			}
		}
		t.Steps = append(t.Steps, s)
	}
}

// addByHand has somebody sync what Argo CD does not.
func (t *translation) addByHand(o Options) error {
	var events []simulation.Event
	for _, name := range o.ByHand {
		if !slices.Contains(t.names(), name) {
			return fmt.Errorf("--by-hand %s: there is no such Application in a step; they are %s", name, list(t.names(), 5))
		}
		events = append(events, simulation.Event{Do: "byhand " + name})
	}
	t.Events = slices.Concat(events, t.Events)
	return nil
}

// addApplications adds all that are in a step, in the order of the steps: so they are shown.
func (t *translation) addApplications(r *Rollout, o Options) {
	rule := argocd.NewApplicationSet(r.Set)
	t.branches = newBranches(r.Applications)
	if t.branches.dry {
		t.Layout = "hydrated"
		t.limit("The source hydrator is modelled roughly: all Applications are hydrated from one branch.")
	}
	for _, app := range r.Applications {
		step := slices.Index(t.order, rule.StepOf(argocd.Labels(app.Labels, app.Annotations)))
		if step < 0 {
			t.unselected = append(t.unselected, app.Name)
			continue
		}
		t.steps[step] = append(t.steps[step], app.Name)
		from, cut := t.branches.of(app)
		if cut {
			t.limit("Of an Application with more than two branches, the first two are played.")
		}
		t.Applications = append(t.Applications, simulation.Application{
			Name: app.Name, Step: step + 1, From: from, Compared: comparedAgo(o, app.Name), Retries: t.retries(app),
			Track:     app.Labels[r.Set.Annotations[settings.TrackAnnotation]],
			Automated: rule.Waves && app.Spec.SyncPolicy != nil && app.Spec.SyncPolicy.IsAutomatedSyncEnabled(),
		})
	}
	slices.SortStableFunc(t.Applications, func(a, b simulation.Application) int { return cmp.Compare(a.Step, b.Step) })
	if len(t.unselected) > 0 {
		t.limit("Applications that are in no step are left out. Argo CD counts them in step 1 where its maxUpdate is a " +
			"percentage.")
	}
}

// retries is retry.limit of an Application; -1 if there is a policy that retries nothing, and 0 if there is none.
func (t *translation) retries(app *argo.Application) int64 {
	policy := app.Spec.SyncPolicy
	if policy == nil || policy.Retry == nil {
		return 0
	}
	if policy.Retry.Backoff != nil {
		t.limit("retry.backoff is not played: the times between two attempts are those of Argo CD's default.")
	}
	switch limit := policy.Retry.Limit; {
	case limit == 0:
		return -1
	case limit < 0:
		t.limit("retry.limit below 0, which is for ever, is played as 20.")
		return 20
	default:
		return limit
	}
}

func (t *translation) limit(text string) {
	if !slices.Contains(t.limits, text) {
		t.limits = append(t.limits, text)
	}
}

// comparedAgo draws when an Application was last compared: Argo CD polls each at a moment of its own.
func comparedAgo(o Options, name string) time.Duration {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%d/%s", o.Seed, name)
	return time.Duration(h.Sum32()%uint32(o.Poll/time.Second-1)+1) * time.Second //nolint:gosec // Validate bounds it
}

// effects says what a commit does to those that fail, as the model has it.
func (t *translation) effects(o Options) (string, error) {
	var does strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o.Failures)) {
		switch {
		case slices.Contains(t.unselected, name):
			return "", fmt.Errorf("--fail %s: the Application is in no step, and the rollout does not touch it", name)
		case !slices.Contains(t.names(), name):
			return "", fmt.Errorf("--fail %s: there is no such Application; they are %s", name, list(t.names(), 5))
		}
		fmt.Fprintf(&does, " %s=%s", name, o.Failures[name])
	}
	return does.String(), nil
}

func (t *translation) names() []string {
	var all []string
	for _, app := range t.Applications {
		all = append(all, app.Name)
	}
	return all
}

// addCommits makes a commit land in every branch that somebody deploys, those of earlier steps first.
func (t *translation) addCommits(o Options) error {
	does, err := t.effects(o)
	if err != nil {
		return err
	}
	landed, step := map[string]bool{}, t.Applications[0].Step
	for _, app := range t.Applications {
		from := app.From
		if t.branches.dry {
			from = []string{dryBranch}
		}
		for _, branch := range from {
			if landed[branch] {
				continue
			}
			landed[branch] = true
			t.landings = append(t.landings, t.branches.labels[branch])
			if app.Step > step {
				t.limit(fmt.Sprintf("Commits for later steps land %s after those for earlier ones.", between))
			}
			t.Events = append(t.Events, simulation.Event{
				After: time.Duration(app.Step-step) * between, Do: "commit " + branch + " all slow" + does,
			})
			step = app.Step
			if o.GitWebhook {
				t.Events = append(t.Events, simulation.Event{Do: "githook " + branch})
			}
		}
	}
	return nil
}
