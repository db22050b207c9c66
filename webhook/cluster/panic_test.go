// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

// A shared read runs in no request's goroutine, so that no request's recover would catch it: the process would end.
func TestAPanicInASharedReadIsAFailureOfIt(t *testing.T) {
	g := NewWithT(t)
	b := newBatches[int]()
	_, err := b.do(t.Context(), "argocd", "all", func(context.Context) (int, error) {
		panic("an object of a shape that nobody expected")
	})
	g.Expect(err).To(MatchError("panic in a live read: an object of a shape that nobody expected"))
	got, err := b.do(t.Context(), "argocd", "all", func(context.Context) (int, error) { return 7, nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(7))
}
