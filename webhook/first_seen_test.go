package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
)

// sights are what a watch has seen: by UID, always at the same time.
type sights map[types.UID]time.Time

func (s sights) FirstSeen(app types.UID, _ []policy.Source) time.Time { return s[app] }

// TestFirstSeenDecides has dev and prod of different repositories. dev was compared at 11:59, and the controller opened
// prod's step at noon. What counts is when prod's change was seen, where that is known.
func TestFirstSeenDecides(t *testing.T) {
	before, after := sights{"prod-uid": noon.Add(-2 * time.Minute)}, sights{"prod-uid": noon}
	for name, tc := range map[string]struct {
		seen        sights
		edit        func(*attempt)
		wantAllowed bool
	}{
		"it was not seen":                     {sights{}, nil, false},
		"it was seen before dev was compared": {before, nil, true},
		"it was seen since":                   {after, nil, false},
		"another Application was seen":        {sights{"dev-uid": noon.Add(-2 * time.Minute)}, nil, false},
		"the operation names a revision that was not compared": {before, func(a *attempt) {
			a.after.Operation.Sync.Revision = commit("c")
		}, false},
		"the spec changes in the same write": {before, func(a *attempt) {
			a.after.Spec.Source.Path = "elsewhere"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterOf("1:dev=Healthy@a 3:prod=Healthy@b")
			own := "https://git.example.com/prod.git"
			c.apps[1].Spec.Source.RepoURL, c.apps[1].Status.Sync.ComparedTo.Source.RepoURL = own, own
			c.sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "prod", Step: "3", LastTransitionTime: ptr.To(metav1.NewTime(noon))}}
			write := syncOf(c, "prod")
			if tc.edit != nil {
				tc.edit(write)
			}
			trial := newTrial(testConfig(), c)
			trial.gate.Watch = tc.seen
			NewWithT(t).Expect(trial.handle(write.request()).Allowed).To(Equal(tc.wantAllowed))
		})
	}
}
