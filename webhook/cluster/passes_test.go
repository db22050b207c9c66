// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestThePassOfASpecHasEnded only if all that was written in it was written before, and seen.
func TestThePassOfASpecHasEnded(t *testing.T) {
	spec := func(name string, version int, parameters string) *argocd.Projection {
		return &argocd.Projection{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "argocd", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version),
			},
			Owner: "set", Content: argocd.Content{Parameters: parameters},
		}
	}
	for name, tc := range map[string]struct {
		// then follows a spec of dev and one of prod, of resourceVersions 10 and 11.
		then func(*Histories)
		want bool
	}{
		"nothing has": {then: func(*Histories) {}},
		"it has": {then: func(s *Histories) {
			s.PassEnded(Owner{"argocd", "set"}, "12")
			s.Observe(spec("dev", 13, "b"))
		}, want: true},
		"the watch of Applications has not come that far": {then: func(s *Histories) {
			s.Observe(spec("dev", 12, "b"))
			s.PassEnded(Owner{"argocd", "set"}, "13")
		}},
		"only in another namespace it has": {then: func(s *Histories) {
			s.PassEnded(Owner{"argocd", "set"}, "12")
			other := spec("other", 13, "b")
			other.Namespace = "team-a"
			s.Observe(other)
		}},
		"a list comes in any order": {then: func(s *Histories) {
			s.PassEnded(Owner{"argocd", "set"}, "12")
			s.Listed(spec("other", 13, "b"))
		}},
		"the one before has": {then: func(s *Histories) {
			s.PassEnded(Owner{"argocd", "set"}, "9")
			s.Observe(spec("dev", 13, "b"))
		}},
		"a sibling got another spec after that": {then: func(s *Histories) {
			s.PassEnded(Owner{"argocd", "set"}, "12")
			s.Observe(spec("dev", 13, "c"))
			s.Observe(spec("prod", 14, "b"))
		}},
		"that of another ApplicationSet has": {then: func(s *Histories) {
			s.PassEnded(Owner{"argocd", "other"}, "12")
			s.Observe(spec("dev", 13, "b"))
		}},
		"versions without an order say nothing": {then: func(s *Histories) {
			s.PassEnded(Owner{"argocd", "set"}, "abc")
			s.Observe(spec("dev", 13, "b"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), NewHistories(clock.RealClock{})
			s.Listed(spec("dev", 5, "a"))
			s.Listed(spec("prod", 6, "a"))
			s.Observe(spec("dev", 10, "b"))
			s.Observe(spec("prod", 11, "b"))
			tc.then(s)
			since, byAnother, ended := s.ContentSince("prod", argocd.Content{Parameters: "b"})
			g.Expect(since).To(BeTemporally("~", time.Now(), time.Minute))
			g.Expect(byAnother).To(BeFalse())
			g.Expect(ended).To(Equal(tc.want))
			_, _, ended = s.ContentSince("prod", argocd.Content{Parameters: "unseen"})
			g.Expect(ended).To(BeFalse())
		})
	}
}
