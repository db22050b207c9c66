// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

var (
	drawnKeys   = []string{"env", "tier"}
	drawnValues = []string{"dev", "qa", "prod"}
)

// drawSet draws an ApplicationSet with steps, some of them wrong.
func drawSet(t *rapid.T) *argo.ApplicationSet {
	expression := rapid.Custom(func(t *rapid.T) argo.ApplicationMatchExpression {
		return argo.ApplicationMatchExpression{
			Key: rapid.SampledFrom(drawnKeys).Draw(t, "key"), Operator: rapid.SampledFrom([]string{"In", "In", "NotIn", "NotIn", "Exists", "in"}).Draw(t, "operator"),
			Values: rapid.SliceOfN(rapid.SampledFrom(drawnValues), 0, 3).Draw(t, "values"),
		}
	})
	step := rapid.Custom(func(t *rapid.T) argo.ApplicationSetRolloutStep {
		return argo.ApplicationSetRolloutStep{MatchExpressions: rapid.SliceOfN(expression, 0, 3).Draw(t, "expressions")}
	})
	return &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Name: "guestbook", Namespace: "argocd"},
		Spec: argo.ApplicationSetSpec{Strategy: &argo.ApplicationSetStrategy{
			Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{Steps: rapid.SliceOfN(step, 1, 5).Draw(t, "steps")},
		}},
	}
}

// eachLabels visits all labels that Applications may have.
func eachLabels(visit func(map[string]string)) {
	all := append([]string{"", "other"}, drawnValues...)
	for _, env := range all {
		for _, tier := range all {
			labels := map[string]string{}
			if env != "" {
				labels["env"] = env
			}
			if tier != "" {
				labels["tier"] = tier
			}
			visit(labels)
		}
	}
}

// A step that lint calls shadowed never gets an Application, whatever its labels are; and a step that never gets one is
// reported, for one reason or another.
func TestShadowedStepsNeverGetAnApplication(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		set := drawSet(t)
		steps := argocd.NewApplicationSet(set).Steps
		gets := map[int]bool{}
		eachLabels(func(labels map[string]string) { gets[policy.StepOf(steps, labels)] = true })
		result := Check(&Subject{Set: set}, Options{Clock: clocktesting.NewFakePassiveClock(now)})
		for i := range steps {
			path := stepPath(i).String()
			nothing := slices.ContainsFunc(result.Findings, func(f Finding) bool {
				return strings.HasPrefix(f.Path, path) &&
					(f.Rule == "shadowed-step" || f.Rule == "contradiction" || f.Rule == "in-without-values")
			})
			broken := slices.ContainsFunc(result.Findings, func(f Finding) bool {
				return strings.HasPrefix(f.Path, path) && f.Rule == "unknown-operator"
			})
			if nothing {
				g.Expect(gets[i]).To(BeFalse(), "step %d of %v: %v", i+1, steps, result.Findings)
			} else if !broken {
				g.Expect(gets[i]).To(BeTrue(), "step %d of %v: %v", i+1, steps, result.Findings)
			}
		}
	})
}

// Where Applications exist, lint says of each what the rule says, and nothing else.
func TestMembershipIsThatOfTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		set := drawSet(t)
		steps := argocd.NewApplicationSet(set).Steps
		s := &Subject{Set: set, Known: true}
		for i := range rapid.IntRange(1, 3).Draw(t, "applications") {
			labels := map[string]string{}
			for _, key := range drawnKeys {
				if value := rapid.SampledFrom(append([]string{""}, drawnValues...)).Draw(t, key); value != "" {
					labels[key] = value
				}
			}
			s.Applications = append(s.Applications, Application{Name: fmt.Sprintf("app-%d", i), Labels: labels})
		}
		result := Check(s, Options{Clock: clocktesting.NewFakePassiveClock(now)})
		said := func(rule, name string) bool {
			return slices.ContainsFunc(result.Findings, func(f Finding) bool {
				return f.Rule == rule && strings.Contains(f.Message, name)
			})
		}
		filled := map[int]bool{}
		for _, a := range s.Applications {
			step := policy.StepOf(steps, a.Labels)
			filled[step] = true
			g.Expect(said("in-no-step", a.Name)).To(Equal(step < 0), "%s of %v: %v", a.Name, steps, result.Findings)
			later := 0
			for i := step + 1; step >= 0 && i < len(steps); i++ {
				if policy.StepOf(steps[i:i+1], a.Labels) == 0 {
					later++
				}
			}
			g.Expect(said("in-two-steps", a.Name)).To(Equal(later > 0), "%s of %v: %v", a.Name, steps, result.Findings)
		}
		for _, f := range result.Findings {
			if f.Rule == "step-without-applications" {
				for i := range steps {
					if f.Path == stepPath(i).String() {
						g.Expect(filled[i]).To(BeFalse(), "%v: %v", steps, result.Findings)
					}
				}
			}
		}
	})
}
