// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
)

// monorepo is an Argo CD with many Applications of one repository, which a Releaser asks to compare them with commit b.
type monorepo struct {
	*releasing
	cluster *scenario.Cluster
	// perSecond is how many Applications it compares.
	perSecond int
	// changed are Applications that the commit changes.
	changed []string
	// waiting are the Applications that it has been asked to compare and has not compared yet, and all is everything
	// asked, in its order.
	waiting, all []string
	most         int
}

// newMonorepo has 60 Applications in step 1 and in step 2, compared with commit a, and waiting ones that are compared
// with b.
func newMonorepo(waiting ...string) *monorepo {
	var line []string
	for i := range 120 {
		line = append(line, fmt.Sprintf("%d:app-%03d=Healthy@a", 2-i/60, i)) // the names go against the steps
	}
	for _, w := range waiting {
		line = append(line, w+"=Healthy@b")
	}
	c := scenario.Of(strings.Join(line, " "))
	for _, w := range waiting {
		_, name, _ := strings.Cut(w, ":")
		scenario.Pending(c, name)
	}
	return &monorepo{releasing: newReleasing(scenario.Releasing(), c), cluster: c, perSecond: 20}
}

// run plays until a time: the Releaser looks ten times a second, for something changes all the time.
func (m *monorepo) run(until time.Duration) {
	const step = 100 * time.Millisecond
	for ; m.clock.Now().Before(scenario.Noon.Add(until)); m.clock.Step(step) {
		m.Reconcile(guestbook)
		for _, text := range m.refreshes.Take() {
			name := strings.Fields(strings.TrimPrefix(text, "argocd/"))[0]
			m.all, m.waiting = append(m.all, name), append(m.waiting, name)
		}
		m.most = max(m.most, len(m.waiting))
		for range min(len(m.waiting), m.perSecond/10) {
			m.compare(m.waiting[0])
			m.waiting = m.waiting[1:]
		}
	}
}

func (m *monorepo) compare(name string) {
	for _, app := range m.cluster.Apps {
		if app.Name == name {
			app.Status.Sync.Revision, app.Status.ReconciledAt = scenario.Commit("b"), &metav1.Time{Time: m.clock.Now()}
			if slices.Contains(m.changed, name) {
				app.Status.Sync.Status = argo.SyncStatusCodeOutOfSync
			}
		}
	}
}

// ofStep are those that were asked for of a step.
func (m *monorepo) ofStep(step string) []string {
	var found []string
	for _, name := range m.all {
		for _, app := range m.cluster.Apps {
			if app.Name == name && app.Labels["step"] == step {
				found = append(found, name)
			}
		}
	}
	return found
}

// TestTheOrderOfTheRefreshes commits to a monorepo: what is refreshed, of the earlier steps, before the changed
// Application may start.
func TestTheOrderOfTheRefreshes(t *testing.T) {
	for name, tc := range map[string]struct {
		waiting   []string
		changed   []string
		perSecond int
		within    time.Duration
		// want is how many Applications of each step are refreshed.
		want [3]int
	}{
		"all that come before it, once":                          {waiting: []string{"3:prod"}, want: [3]int{60, 60, 1}},
		"two that wait for the same ones":                        {waiting: []string{"3:east", "3:prod"}, want: [3]int{60, 60, 2}},
		"two of different steps":                                 {waiting: []string{"2:qa", "3:prod"}, want: [3]int{60, 61, 1}},
		"the first in step 1 has to sync: no more are asked for": {waiting: []string{"3:prod"}, changed: []string{"app-060"}, want: [3]int{atOnce, 0, 0}},
		"the last in step 1 has to sync: some of step 2 are":     {waiting: []string{"3:prod"}, changed: []string{"app-119"}, want: [3]int{60, 36, 0}},
		"Argo CD compares nothing: no more are asked for":        {waiting: []string{"3:prod"}, perSecond: -1, want: [3]int{atOnce, 0, 0}},
		"Argo CD compares nothing for long":                      {waiting: []string{"3:prod"}, perSecond: -1, within: 19 * time.Second, want: [3]int{60, atOnce - 20, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := newMonorepo(tc.waiting...)
			m.changed = tc.changed
			if tc.perSecond != 0 {
				m.perSecond = 0
			}
			m.run(cmp.Or(tc.within, 9*time.Second))
			var got [3]int
			for i := range got {
				of := m.ofStep(fmt.Sprint(i + 1))
				got[i] = len(of)
				g.Expect(slices.Compact(slices.Sorted(slices.Values(of)))).To(HaveLen(len(of)), "each once")
			}
			g.Expect(got).To(Equal(tc.want))
			if m.perSecond > 0 {
				g.Expect(m.most).To(BeNumerically("<=", atOnce))
			}
			earlier := m.ofStep("1")
			g.Expect(earlier).To(ContainElements(m.all[:min(len(earlier), atOnce)]), "step 1 comes first")
		})
	}
}

// TestWhatADecisionNeeds says up to which step siblings are compared.
func TestWhatADecisionNeeds(t *testing.T) {
	stale := func(step int) policy.Blocker {
		return policy.Blocker{Application: fmt.Sprint("stale-", step), Step: step, Ends: policy.CompareAgain}
	}
	other := func(step int, reason policy.Reason) policy.Blocker {
		return policy.Blocker{Application: "other", Step: step, Reason: reason}
	}
	compared := stale(0)
	compared.Application = "other"
	for name, tc := range map[string]struct {
		blockers []policy.Blocker
		want     []string
	}{
		"all that are stale":                 {blockers: []policy.Blocker{stale(0), stale(1)}, want: []string{"stale-0", "stale-1"}},
		"a sibling of the same step is sick": {blockers: []policy.Blocker{other(1, policy.NotHealthy), stale(1)}, want: []string{"stale-1"}},
		"one of an earlier step is sick":     {blockers: []policy.Blocker{other(0, policy.NotHealthy), stale(1)}},
		"one of a later step is sick":        {blockers: []policy.Blocker{stale(0), other(1, policy.NotHealthy), stale(2)}, want: []string{"stale-0"}},
		"one of an earlier step syncs":       {blockers: []policy.Blocker{other(0, policy.OperationInProgress), stale(1)}},
		"one of an earlier step only soaks":  {blockers: []policy.Blocker{stale(1), other(0, policy.Soaking)}, want: []string{"stale-1"}},
		"one of an earlier step is compared": {blockers: []policy.Blocker{compared, stale(1)}, want: []string{"other", "stale-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			d := policy.Decision{Reason: tc.blockers[0].Reason, Blockers: tc.blockers}
			for _, c := range needs(d, &policy.Target{}, "argocd") {
				got = append(got, c.app.Name)
			}
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

// TestOneComparisonServesAll lets two syncs wait for the same Application, for different commits, and both find it at
// the same moment.
func TestOneComparisonServesAll(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@a 3:east=Healthy@b 3:prod=Healthy@c")
	scenario.Pending(c, "east", "prod")
	r := newReleasing(scenario.Releasing(), c)
	r.clock.Step(r.Reconcile(guestbook))
	r.Reconcile(guestbook)
	g.Expect(r.sets[guestbook].requests).To(HaveLen(2))
	g.Expect(r.refreshes.Take()).To(HaveLen(1))
}

// TestEachRepetitionIsAnother lets two syncs be repeated: the refreshes for the one must not use up those for the
// other.
func TestEachRepetitionIsAnother(t *testing.T) {
	g := NewWithT(t)
	why := func(started time.Time) string {
		all := needs(policy.Decision{Reason: policy.AlreadySynced}, &policy.Target{SyncStartedAt: started}, "argocd")
		g.Expect(all).To(HaveLen(1))
		return all[0].why
	}
	g.Expect(why(scenario.Noon)).To(Equal(why(scenario.Noon)))
	g.Expect(why(scenario.Noon)).NotTo(Equal(why(scenario.Noon.Add(time.Second))))
}
