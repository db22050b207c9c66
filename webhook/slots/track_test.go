// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/policy"
)

// TestARelabelledApplicationTakesASlotOfEveryTrack: "a" and "b" are in the track shop, "c" is in another one, and is
// being synced.
func TestARelabelledApplicationTakesASlotOfEveryTrack(t *testing.T) {
	in := func(track string) map[string]string { return map[string]string{"env": "dev", "app": track} }
	for name, tc := range map[string]struct {
		most          string
		before, after map[string]string
		seen          policy.Past
		none          bool // the ApplicationSet has no tracks
		want          *policy.Slots
	}{
		"it stays in its track":                      {most: "1", before: in("shop"), after: in("shop")},
		"the write moves it to a fresh one":          {most: "1", before: in("shop"), after: in("fresh"), want: &policy.Slots{Most: 1}},
		"the write takes its label away":             {most: "1", before: in("shop"), after: in(""), want: &policy.Slots{Most: 1}},
		"it was moved a moment ago":                  {most: "1", before: in("fresh"), after: in("fresh"), seen: policy.Past{Relabelled: true}, want: &policy.Slots{Most: 1}},
		"it waits for one, and was moved":            {most: "1", after: in("fresh"), seen: policy.Past{Relabelled: true}, want: &policy.Slots{Most: 1}},
		"the write creates it":                       {most: "1", after: in("fresh")},
		"a share of its track, which may be smaller": {most: "50%", before: in("shop"), after: in("fresh"), want: &policy.Slots{Most: 1}},
		"two at once":                                {most: "2", before: in("shop"), after: in("fresh")},
		"there are no tracks":                        {most: "2", before: in("shop"), after: in("fresh"), seen: policy.Past{Relabelled: true}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tr := newTrial(intstr.Parse(tc.most))
			for app, track := range map[string]string{"a": "shop", "b": "shop", "c": "other", "d": "other"} {
				tr.change(app, func(a *policy.Application) { a.Labels, a.OperationSet = in(track), app == "c" })
			}
			s := &policy.Settings{Track: "app"}
			if tc.none {
				s.Track = ""
			}
			claim := tr.claim("a").Within(s, tc.before, tc.after, tc.seen)
			full, err := tr.store.Take(t.Context(), claim)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == nil {
				g.Expect(full).To(BeNil())
				return
			}
			g.Expect(full).NotTo(BeNil())
			g.Expect(full.Most).To(Equal(tc.want.Most))
			g.Expect(full.Taken[0].Application).To(Equal("c"))
			view, err := NewView(tr.family, NewRecent(ConfigMaps{tr.server}, tr.clock), tr.clock).Take(t.Context(), claim)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown(view)).To(Equal(shown(full)), "a screen says so, too")
		})
	}
}

// TestNobodyTakesTheSlotOfARelabelledApplication in the track that it has left.
func TestNobodyTakesTheSlotOfARelabelledApplication(t *testing.T) {
	g := NewWithT(t)
	tr := newTrial(intstr.FromInt32(1))
	for name := range tr.apps {
		tr.change(name, func(a *policy.Application) { a.Labels = map[string]string{"env": "dev", "app": "shop"} })
	}
	s, fresh := &policy.Settings{Track: "app"}, map[string]string{"app": "fresh"}
	g.Expect(tr.asks(t, tr.claim("a").Within(s, tr.apps["a"].Application.Labels, fresh, policy.Past{}))).To(BeNil())
	tr.change("a", func(a *policy.Application) {
		a.Labels, a.OperationSet = map[string]string{"env": "dev", "app": "fresh"}, true
	})
	b := tr.apps["b"].Application.Labels
	g.Expect(tr.asks(t, tr.claim("b").Within(s, b, b, policy.Past{}))).To(Equal([]string{"a=OperationInProgress"}))
}
