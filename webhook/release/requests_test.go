// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// apps are the needs of so many Applications of step 1, which were compared so long before noon. Each time it is for
// another reason.
func apps(n int, before time.Duration, why string) []need {
	var all []need
	for i := range n {
		all = append(all, need{
			app: types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("app-%d", i)}, why: why,
			comparedAt: scenario.Noon.Add(-before),
		})
	}
	return all
}

// TestRefreshesAfterRefusalsAreFew counts what is asked for after one refusal and after the next ones.
func TestRefreshesAfterRefusalsAreFew(t *testing.T) {
	for name, tc := range map[string]struct {
		apps  int
		every time.Duration
		// compared says that Argo CD has compared the Applications meanwhile, another that the refusals are of several
		// ApplicationSets, and released that a Releaser has asked for the first 30.
		compared, another, released bool
		want                        []int
	}{
		"nothing is compared meanwhile":            {apps: 3, want: []int{3, 0, 0, 0}},
		"all is compared meanwhile":                {apps: 3, compared: true, want: []int{3, 3, 0, 0}},
		"all is compared, and the user takes long": {apps: 3, compared: true, every: overlookedAfter, want: []int{3, 3, 3, 3}},
		"they are many":                            {apps: 100, want: []int{atOnce, 0, 0, 0}},
		"they are many, and the user takes long":   {apps: 100, every: overlookedAfter, want: []int{atOnce, atOnce, atOnce, atOnce}},
		"others of their ApplicationSet":           {apps: 100, another: true, want: []int{atOnce, atOnce, 100 - 2*atOnce, 0}},
		"a Releaser has asked for some":            {apps: 100, released: true, want: []int{atOnce - 30, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(scenario.Noon)
			q := NewRequests(&scenario.Refreshes{}, nil, clock)
			if tc.released {
				for _, c := range apps(30, time.Hour, "its turn has come") {
					q.ask(guestbook, c.app, c.why, c.comparedAt)
				}
			}
			var got []int
			for i := range tc.want {
				set, before, owned := guestbook, time.Hour, []*argocd.Projection(nil)
				if tc.another {
					set = nameOfSet(fmt.Sprint("set-", i))
				}
				if tc.compared {
					before -= time.Duration(i) * time.Minute
				}
				got = append(got, len(q.few(set, apps(tc.apps, before, fmt.Sprint("revision ", i)), owned)))
				clock.Step(tc.every)
			}
			NewWithT(t).Expect(got).To(Equal(tc.want))
			NewWithT(t).Expect(len(q.lately)).To(BeNumerically("<=", 100), "the rest is forgotten")
		})
	}
}
