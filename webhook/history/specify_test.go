// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestWhoseSpecIsNewsForOthers is the ApplicationSet controller's: it may be about to write theirs.
func TestWhoseSpecIsNewsForOthers(t *testing.T) {
	for name, another := range map[string]bool{"the ApplicationSet controller's": false, "another writer's": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			with := func(spec string, another bool) *argocd.Projection {
				return &argocd.Projection{Content: argocd.Content{Parameters: spec}, ByAnother: another}
			}
			r, _ := (*Record)(nil).Next(with("a", false), Event{Position: 1, At: second(1)})
			r, news := r.Next(with("b", another), Event{Position: 2, At: second(2)})
			g.Expect(news).To(Equal(!another))
			r, news = r.Next(with("b", false), Event{Position: 3, At: second(3)})
			g.Expect(news).To(BeFalse(), "it has not changed")
			since, byAnother, known := r.ContentSince(argocd.Content{Parameters: "b"})
			g.Expect([]any{since, byAnother, known}).To(Equal([]any{second(2), another, true}))
		})
	}
}
