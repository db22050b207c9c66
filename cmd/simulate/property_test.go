// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/webhook/settings"
)

// drawRollout draws a small ApplicationSet, with steps that may be empty, overlap or have a strange maxUpdate.
func drawRollout(t *rapid.T) *Rollout {
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "guestbook"}}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
	}
	environments := []string{"dev", "qa", "prod"}
	mosts := []*intstr.IntOrString{
		nil, nil, new(intstr.FromInt32(1)), new(intstr.FromString("50%")), new(intstr.FromInt32(0)),
		new(intstr.FromString("many")),
	}
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		step := argo.ApplicationSetRolloutStep{MaxUpdate: rapid.SampledFrom(mosts).Draw(t, "maxUpdate")}
		if rapid.IntRange(0, 5).Draw(t, "has expressions") > 0 {
			step.MatchExpressions = []argo.ApplicationMatchExpression{{
				Key: "env", Operator: rapid.SampledFrom([]string{"In", "In", "In", "NotIn", "Exists"}).Draw(t, "operator"),
				Values: []string{rapid.SampledFrom(environments).Draw(t, "value")},
			}}
		}
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, step)
	}
	r := &Rollout{Set: set}
	hydrated := rapid.IntRange(0, 4).Draw(t, "hydrated") == 0
	revision := rapid.SampledFrom([]string{"main", "main", "%s"}).Draw(t, "branches")
	for i := range rapid.IntRange(1, 7).Draw(t, "applications") {
		env := rapid.SampledFrom(environments).Draw(t, "env")
		app := &argo.Application{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("app-%d", i), Labels: map[string]string{"env": env}},
		}
		source := argo.ApplicationSource{RepoURL: "https://example.com/app.git", TargetRevision: revision}
		if revision == "%s" {
			source.TargetRevision = env
		}
		if hydrated {
			app.Spec.SourceHydrator = &argo.SourceHydrator{
				DrySource: argo.DrySource{RepoURL: source.RepoURL, TargetRevision: source.TargetRevision},
			}
		} else {
			app.Spec.Source = &source
		}
		r.Applications = append(r.Applications, app)
	}
	return r
}

func drawOptions(t *rapid.T, r *Rollout) Options {
	o := defaults()
	o.Version = rapid.SampledFrom([]string{"3.5", "3.5", "3.6"}).Draw(t, "argocd")
	o.Seed = uint32(rapid.IntRange(0, 1000).Draw(t, "seed"))
	o.GitWebhook = rapid.Bool().Draw(t, "git webhook")
	o.Failures = map[string]Failure{}
	for _, app := range r.Applications {
		if rapid.IntRange(0, 6).Draw(t, "fails") == 0 {
			o.Failures[app.Name] = rapid.SampledFrom([]Failure{FailsHealth, FailsSync}).Draw(t, "how")
		}
	}
	return o
}

// With the gate, no Application starts before all of the earlier steps are done, whatever the ApplicationSet is.
// Nothing panics, and the text fits.
func TestInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		r := drawRollout(rt)
		report, err := Play(context.Background(), r, drawOptions(rt, r))
		if err != nil {
			g.Expect(err.Error()).To(Or(ContainSubstring("no step of"), ContainSubstring("is in no step")))
			return
		}
		g.Expect(outOfOrder(report)).To(BeEmpty())
		g.Expect(report.Early()).To(BeEmpty())
		g.Expect(report.Complete).To(Equal(len(done(report)) == len(report.stepOf)), "it is complete when all are done")
		for _, line := range report.Text(screen.Screen{Width: 80}) {
			g.Expect(screen.Length(line)).To(BeNumerically("<=", 80))
		}
	})
}

// done are the Applications that are done in the end.
func done(r *Report) map[string]bool {
	all := map[string]bool{}
	for _, e := range r.Events {
		if e.Kind == simulation.Done {
			all[e.Application] = true
		}
	}
	return all
}

// outOfOrder looks for a start before an Application of an earlier step was done. Where all deploy one branch, the
// events alone tell.
func outOfOrder(r *Report) string {
	if len(r.Branches) > 1 {
		return ""
	}
	done := map[string]bool{}
	for _, e := range r.Events {
		switch e.Kind {
		case simulation.Done:
			done[e.Application] = true
		case simulation.Started:
			for _, step := range r.Steps[:e.Step-1] {
				for _, name := range step.Applications {
					if !done[name] {
						return fmt.Sprintf("%s starts at %v, and %s is not done", e.Application, e.Seconds, name)
					}
				}
			}
		default:
		}
	}
	return ""
}

// The check of TestInOrder sees the starts that the model calls early.
func TestOutOfOrderWithoutGate(t *testing.T) {
	g := NewWithT(t)
	report, err := Play(context.Background(), rolloutOf(t, guestbook(t)), with(func(o *Options) { o.Mode = settings.Off }))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outOfOrder(report)).To(ContainSubstring("guestbook-prod-eu starts at"))
	g.Expect(report.Early()).NotTo(BeEmpty())
	g.Expect(report.Fine()).To(BeFalse())
}

// The same input gives the same report, and another seed another one.
func TestSameAgain(t *testing.T) {
	g := NewWithT(t)
	play := func(seed uint32) string {
		report, err := Play(context.Background(), rolloutOf(t, guestbook(t)), with(func(o *Options) { o.Seed = seed }))
		g.Expect(err).NotTo(HaveOccurred())
		return indented(t, report)
	}
	g.Expect(play(7)).To(Equal(play(7)))
	g.Expect(play(7)).NotTo(Equal(play(8)))
}

// What takes long is not taken for a standstill.
func TestSlow(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"becomes Healthy in an hour": func(o *Options) { o.Healthy = time.Hour },
		"polls once in an hour":      func(o *Options) { o.Poll = time.Hour },
		"becomes Healthy in a day":   func(o *Options) { o.Healthy = 24 * time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			report, err := Play(context.Background(), rolloutOf(t, guestbook(t)), with(change))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Fine()).To(BeTrue())
		})
	}
}

// A rollout that stands still comes to its end, also where the ApplicationSet controller of 3.6 looks again every
// second.
func TestStandsStill(t *testing.T) {
	for _, version := range []string{"3.4", "3.5", "3.6"} {
		t.Run(version, func(t *testing.T) {
			g := NewWithT(t)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			report, err := Play(ctx, rolloutOf(t, guestbook(t)), with(func(o *Options) {
				o.Version, o.Seed, o.Failures = version, 0, map[string]Failure{"guestbook-dev": FailsHealth}
			}))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Complete).To(BeFalse())
			g.Expect(report.Early()).To(BeEmpty())
		})
	}
}

// A rollout that the model cannot play to its end is no answer.
func TestTooSlow(t *testing.T) {
	text := strings.Replace(guestbook(t), "          - {name: qa,",
		strings.Repeat("          - {name: qa-X, env: prod}\n", 40)+"          - {name: qa,", 1)
	for n := range 40 {
		text = strings.Replace(text, "qa-X", fmt.Sprint("qa-", n), 1)
	}
	_, err := Play(context.Background(), rolloutOf(t, text), with(func(o *Options) {
		o.Healthy, o.Poll = 24*time.Hour, 24*time.Hour
	}))
	NewWithT(t).Expect(err).To(
		MatchError("the rollout takes longer than 30 days; lower --healthy-after, or raise maxUpdate"),
	)
}

// An ApplicationSet with 200 Applications in 5 steps is played to its end. BenchmarkLarge measures how long that takes.
func TestLarge(t *testing.T) {
	g := NewWithT(t)
	report, err := Play(context.Background(), rolloutOf(t, fleet(t)), defaults())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Fine()).To(BeTrue())
}

func BenchmarkLarge(b *testing.B) {
	r := rolloutOf(b, fleet(b))
	for b.Loop() {
		if _, err := Play(context.Background(), r, defaults()); err != nil {
			b.Fatal(err)
		}
	}
}

// Somebody who has seen enough stops it.
func TestStopped(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_, err := Play(ctx, rolloutOf(t, guestbook(t)), defaults())
	NewWithT(t).Expect(err).To(MatchError(context.Canceled))
}
