// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/rollout"
)

// inStepOne are so many Applications of step 1 that are about to sync, and last, before one of step 2.
func inStepOne(n int, last string) face {
	scene := ""
	for i := range n {
		scene += fmt.Sprintf("1:dev-%02d=Healthy/OutOfSync@new:Pending@new ", i)
	}
	return face{scene: scene + last + " 2:qa-eu=Healthy/OutOfSync@new:Waiting@new", app: "guestbook-qa-eu"}
}

const (
	about = "1:last=Healthy/OutOfSync@new:Pending@new"
	ended = "1:last=Healthy/OutOfSync@new:Progressing@new+failed"
)

// TestADenialFollowsSoMany: what others wait for is looked up within a bound. Beyond it nobody says that nobody has to do
// anything.
func TestADenialFollowsSoMany(t *testing.T) {
	for name, tc := range map[string]struct {
		given face
		want  bool
	}{
		"all were followed":                    {inStepOne(15, about), true},
		"all were followed, and one needs you": {inStepOne(15, ended), false},
		"not all were followed":                {inStepOne(25, ended), false},
		"not all were, and none needs you":     {inStepOne(25, about), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, x := tc.given.seen(t)
			NewWithT(t).Expect(strings.Contains(x.Message, "Nobody has to do anything")).To(Equal(tc.want), x.Message)
		})
	}
}

// TestThousandsThatWaitForThousands have so many names each, and the page gets so many needs.
func TestThousandsThatWaitForThousands(t *testing.T) {
	g := NewWithT(t)
	f := inStepOne(30, about)
	r, _ := f.seen(t)
	var qa *rollout.Application
	for i := range r.Steps {
		for k := range r.Steps[i].Applications {
			if a := &r.Steps[i].Applications[k]; a.Name == f.app {
				qa = a
			}
		}
	}
	g.Expect(qa.WaitsFor).To(HaveLen(20))
	g.Expect(qa.WaitsForMore).To(Equal(11))
	g.Expect(qa.Sentence()).To(Equal("waits for guestbook-dev-00 and 30 more"))
	d := dashboard.DetailAt(r, metav1.Time{}, dashboard.Rights{})
	g.Expect(d.Rollout.Needs).To(HaveLen(20))
	g.Expect(d.NeedsMore).To(Equal(11))
	g.Expect(r.Needs).To(HaveLen(31), "the rollout itself has all")
}
