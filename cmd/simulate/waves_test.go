// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// drawWaves draws an ApplicationSet with waves, or a parent, and its Applications, of which Argo CD syncs most by itself.
func drawWaves(t *rapid.T) *Rollout {
	annotations := map[string]string{settings.WavesAnnotation: "true"}
	if limit := rapid.SampledFrom([]string{"", "", "1", "0=1,2=50%", "nonsense"}).Draw(t, "max-update"); limit != "" {
		annotations[settings.MaxUpdateAnnotation] = limit
	}
	meta := metav1.ObjectMeta{Namespace: "argocd", Name: "platform", Annotations: annotations}
	r := &Rollout{Set: &argo.ApplicationSet{ObjectMeta: meta}}
	if rapid.Bool().Draw(t, "parent") {
		r.Set = argocd.FormOfParent(&argo.Application{ObjectMeta: meta})
	}
	for i := range rapid.IntRange(1, 7).Draw(t, "applications") {
		wave := strconv.Itoa(rapid.IntRange(-1, 2).Draw(t, "wave"))
		app := &argo.Application{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("app-%d", i), Annotations: map[string]string{"argocd.argoproj.io/sync-wave": wave},
		}}
		app.Spec.Source = &argo.ApplicationSource{RepoURL: "https://example.com/app.git", TargetRevision: "main"}
		if rapid.IntRange(0, 9).Draw(t, "automated") > 0 {
			app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
		}
		r.Applications = append(r.Applications, app)
	}
	return r
}

// With the gate, no Application starts before all of the earlier waves are done, and all are done in the end that
// somebody syncs, unless one fails.
func TestWavesInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		r := drawWaves(rt)
		o := drawOptions(rt, r)
		report, err := Play(context.Background(), r, o)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(outOfOrder(report)).To(BeEmpty())
		g.Expect(report.Early()).To(BeEmpty())
		byHand := false
		for _, app := range r.Applications {
			byHand = byHand || app.Spec.SyncPolicy == nil
		}
		g.Expect(report.Complete).To(Equal(!byHand && len(o.Failures) == 0))
		for _, line := range report.Text(screen.Screen{Width: 80}) {
			g.Expect(screen.Length(line)).To(BeNumerically("<=", 80))
			g.Expect(line).NotTo(ContainSubstring("step "))
		}
	})
}

// Argo CD alone starts waves out of order: the checks of TestWavesInOrder see it.
func TestWavesOutOfOrderWithoutGate(t *testing.T) {
	for name, text := range map[string]string{"parent": platform(t, ""), "set": byWaves(t, guestbook(t))} {
		for _, mode := range []settings.Mode{settings.Off, settings.Audit} {
			g := NewWithT(t)
			report, err := Play(t.Context(), rolloutOf(t, text), with(func(o *Options) { o.Mode = mode }))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(outOfOrder(report)).To(ContainSubstring(" starts at"), name)
			g.Expect(report.Early()).NotTo(BeEmpty(), name)
			g.Expect(report.Fine()).To(BeFalse(), name)
		}
	}
}

// The Applications of a large wave are held one by one. That is told once for the wave, and once more for each condition.
func TestALargeWaveIsHeldOnce(t *testing.T) {
	g := NewWithT(t)
	const more = "{name: a}, {name: b}, {name: c}, {name: d}, "
	text := strings.Replace(platform(t, ""), "{name: orders}", more+"{name: orders}", 1)
	text = strings.Replace(text, "stepgate.io/max-update", "stepgate.io/soak: '10=30m', stepgate.io/max-update", 1)
	report, err := Play(t.Context(), rolloutOf(t, text), defaults())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Fine()).To(BeTrue())
	held, why := 0, []string{}
	for _, e := range report.Events {
		if e.Kind == simulation.Held && e.Step == 3 {
			held++
		}
	}
	for _, line := range report.Text(screen.Screen{Width: 1000}) {
		if strings.Contains(line, "Applications of wave 10: stepgate holds the sync") {
			why = append(why, line)
		}
	}
	g.Expect(held).To(BeNumerically(">", 5))
	g.Expect(why).To(HaveLen(2), "the order, and the soak time: %s", why)
}

// The children of a parent are those that Argo CD tracks as its, and what says nothing where it is the only parent.
func TestChildren(t *testing.T) {
	app := func(name, metadata string) string {
		return "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", " + metadata + "}\n"
	}
	const tracked = "annotations: {argocd.argoproj.io/tracking-id: 'PARENT:argoproj.io/Application:argocd/NAME'}"
	of := func(parent, name string) string {
		return app(name, strings.NewReplacer("PARENT", parent, "NAME", name).Replace(tracked))
	}
	one := app("platform", "annotations: {stepgate.io/waves: 'true'}")
	two := one + app("other", "annotations: {stepgate.io/waves: 'true'}")
	set := strings.Replace("---\n"+guestbook(t), "type: RollingSync", "type: AllAtOnce", 1)
	for name, tc := range map[string]struct {
		text, set string
		want      []string
		wantNote  string
	}{
		"tracked by annotation":       {text: one + of("platform", "a") + of("other", "b"), want: []string{"a"}},
		"tracked by label":            {text: one + app("a", "labels: {app.kubernetes.io/instance: platform}"), want: []string{"a"}},
		"of another namespace":        {text: one + of("platform", "a") + app("b", "namespace: apps"), want: []string{"a"}},
		"by the name of its Argo CD":  {text: one + of("argocd_platform", "a"), want: []string{"a"}},
		"not tracked":                 {text: one + app("a", "") + app("b", ""), want: []string{"a", "b"}, wantNote: "The files do not say whose children a and b are: played as children of Application platform"},
		"not tracked, of two parents": {text: two + of("platform", "a") + app("b", ""), set: "platform", want: []string{"a"}, wantNote: "whose children other and b are, and have several parents: left out"},
		"a parent that is a child":    {text: one + of("platform", "a") + of("other", "b") + strings.Replace(of("platform", "other"), "{argo", "{stepgate.io/waves: 'true', argo", 1), set: "platform", want: []string{"a", "other"}},
		"an ApplicationSet":           {text: one + set, want: []string{"guestbook-dev", "guestbook-prod-eu", "guestbook-prod-us", "guestbook-qa"}, wantNote: "The files do not say whose child guestbook is"},
		"an ApplicationSet with an order": {
			text: one + of("platform", "a") + "---\n" + strings.Replace(guestbook(t), "  name: guestbook\n",
				"  name: guestbook\n  annotations: {argocd.argoproj.io/tracking-id: 'platform:argoproj.io/ApplicationSet:argocd/guestbook'}\n", 1),
			set: "platform", want: []string{"a"}, wantNote: "ApplicationSet guestbook has an order of its own: it is not played here.",
		},
		"one that is yet to be created": {
			text: strings.TrimSuffix(one, "\n") + "\nstatus: {resources: [{group: argoproj.io, kind: Application, namespace: argocd, name: new, status: OutOfSync}]}\n" + of("platform", "a"),
			want: []string{"a"}, wantNote: "Left out, as platform has yet to create it: new.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var objects Objects
			g.Expect(read(&objects, "test.yaml", tc.text)).To(Succeed())
			r, err := objects.Rollout(tc.set)
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, app := range r.Applications {
				names = append(names, app.Name)
			}
			g.Expect(names).To(Equal(tc.want))
			if tc.wantNote == "" {
				g.Expect(r.notes).To(BeEmpty())
			} else {
				g.Expect(r.notes).To(ContainElement(ContainSubstring(tc.wantNote)))
			}
		})
	}
}
