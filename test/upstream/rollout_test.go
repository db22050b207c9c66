// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

const applicationsPerRollout = 8

// rollout is an ApplicationSet with a random RollingSync strategy, and Applications with random labels.
type rollout struct {
	set  *argo.ApplicationSet
	apps []argo.Application
}

// randomRollout makes few keys and values, so that steps overlap and miss often.
func randomRollout(r *rand.Rand) rollout {
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "guestbook"}}
	steps := make([]argo.ApplicationSetRolloutStep, 1+r.IntN(4))
	for i := range steps {
		for range pick(r, 0, 1, 1, 1, 2, 2, 3) {
			steps[i].MatchExpressions = append(steps[i].MatchExpressions, randomExpression(r))
		}
	}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{Steps: steps},
	}
	apps := make([]argo.Application, applicationsPerRollout)
	for i := range apps {
		apps[i] = healthyApplication(fmt.Sprintf("app-%02d", i))
		apps[i].Labels = randomLabels(r)
	}
	return rollout{set: set, apps: apps}
}

func randomExpression(r *rand.Rand) argo.ApplicationMatchExpression {
	e := argo.ApplicationMatchExpression{
		Key:      pick(r, "env", "env", "tier", "Env"),
		Operator: pick(r, "In", "In", "In", "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "in", "notin", ""),
	}
	for range pick(r, 0, 1, 1, 2, 3) {
		e.Values = append(e.Values, pick(r, "dev", "qa", "prod", "Dev", ""))
	}
	return e
}

func randomLabels(r *rand.Rand) map[string]string {
	if r.IntN(20) == 0 {
		return nil
	}
	labels := map[string]string{}
	for _, key := range []string{"env", "tier", "Env"} {
		if r.IntN(3) > 0 {
			labels[key] = pick(r, "dev", "qa", "prod", "Dev", "")
		}
	}
	return labels
}

func pick[T any](r *rand.Rand, from ...T) T {
	return from[r.IntN(len(from))]
}

// healthyApplication is one that upstream calls Healthy and the rule calls done.
func healthyApplication(name string) argo.Application {
	source := argo.ApplicationSource{RepoURL: "https://git.example/repo", Path: "guestbook", TargetRevision: "main"}
	app := argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}}
	app.Spec.Source = &source
	app.Status.Health.Status = upstreamHealthy
	app.Status.Sync = argo.SyncStatus{
		Status: argo.SyncStatusCodeSynced, Revision: "864496e", ComparedTo: argo.ComparedTo{Source: source},
	}
	app.Status.ReconciledAt = &metav1.Time{Time: time.Unix(1_800_000_000, 0)}
	return app
}

// whileHeldUp is the rollout while one Application is Progressing and all others are Healthy. The recorded steps are
// left out, so that upstream has to find them.
func (r rollout) whileHeldUp(held int) (*argo.ApplicationSet, []argo.Application) {
	set, apps := r.set.DeepCopy(), make([]argo.Application, len(r.apps))
	for i := range r.apps {
		apps[i] = *r.apps[i].DeepCopy()
		status := upstreamHealthy
		if i == held {
			status = upstreamProgressing
			apps[i].Status.Health.Status = upstreamProgressing
		}
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: apps[i].Name, Status: argo.ProgressiveSyncStatusCode(status),
			TargetRevisions: apps[i].Status.GetRevisions(), LastTransitionTime: apps[i].Status.ReconciledAt,
		})
	}
	return set, apps
}

func (r rollout) steps() []policy.Step {
	return argocd.NewApplicationSet(r.set).Steps
}

// String shows what matters of a rollout in a failure.
func (r rollout) String() string {
	text, _ := json.MarshalIndent(r.set.Spec.Strategy.RollingSync.Steps, "", " ")
	out := string(text)
	for _, app := range r.apps {
		out += fmt.Sprintf("\n%s %v", app.Name, app.Labels)
	}
	return out
}

// coverage counts the special cases that the generator made.
type coverage map[string]int

func specialCases() []string {
	return []string{
		"no labels", "label with an empty value", "no expressions", "selected by no step", "selected by two steps",
		"In without values", "NotIn without values", "In, key missing", "NotIn, key missing",
		`"Exists", key present`, `"Exists", key missing`, `"in", key present`, `"in", key missing`, `"", key present`, `"", key missing`,
		"blocks", "does not block", "blocks itself", "blocker selected by two steps", "target selected by two steps",
		"target selected by the blocker's step and an earlier one", "blocker selected by no step",
	}
}

func (c coverage) add(r rollout) {
	for _, app := range r.apps {
		c.count("no labels", app.Labels == nil)
		c.count("selected by no step", len(r.selectedBy(app)) == 0)
		c.count("selected by two steps", len(r.selectedBy(app)) > 1)
		for _, step := range r.set.Spec.Strategy.RollingSync.Steps {
			c.count("no expressions", len(step.MatchExpressions) == 0)
			for _, e := range step.MatchExpressions {
				value, present := app.Labels[e.Key]
				c.count("label with an empty value", present && value == "")
				c.addExpression(e, present)
			}
		}
	}
}

func (c coverage) addExpression(e argo.ApplicationMatchExpression, present bool) {
	known := e.Operator == "In" || e.Operator == "NotIn"
	c.count(e.Operator+" without values", known && present && len(e.Values) == 0)
	c.count(e.Operator+", key missing", known && !present)
	c.count(fmt.Sprintf("%q, key present", e.Operator), !known && present)
	c.count(fmt.Sprintf("%q, key missing", e.Operator), !known && !present)
}

func (c coverage) addRelation(r rollout, target, held int, blocked bool) {
	ofTarget, ofHeld := r.selectedBy(r.apps[target]), r.selectedBy(r.apps[held])
	c.count("blocks", blocked)
	c.count("does not block", !blocked)
	c.count("blocks itself", target == held)
	c.count("blocker selected by no step", len(ofHeld) == 0)
	c.count("blocker selected by two steps", blocked && len(ofHeld) > 1)
	c.count("target selected by two steps", blocked && len(ofTarget) > 1)
	c.count("target selected by the blocker's step and an earlier one",
		len(ofTarget) > 1 && len(ofHeld) > 0 && ofTarget[0] < ofHeld[0] && ofTarget[1] == ofHeld[0])
}

func (c coverage) count(what string, happened bool) {
	if happened {
		c[what]++
	}
}

// selectedBy lists the 0-based steps that select an Application, each asked alone.
func (r rollout) selectedBy(app argo.Application) []int {
	var by []int
	for i, step := range r.steps() {
		if policy.StepOf([]policy.Step{step}, app.Labels) == 0 {
			by = append(by, i)
		}
	}
	return by
}
