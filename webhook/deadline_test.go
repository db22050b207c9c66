// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// hanging is a Evaluator whose API server does not answer.
type hanging struct{}

func (hanging) ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("get ApplicationSet %s: %w", name, ctx.Err())
}

func (hanging) Evaluate(ctx context.Context, _ policy.Input, _ policy.Decision) (policy.Decision, error) {
	<-ctx.Done()
	return policy.Decision{}, ctx.Err()
}

func (hanging) Named(ctx context.Context, _ types.NamespacedName) (judge.Named, error) {
	<-ctx.Done()
	return judge.Named{}, ctx.Err()
}

// The gate gives up on an API server that hangs before the caller gives up on the webhook. That is no decision.
func TestReadsThatHang(t *testing.T) {
	const tooLate = "the API server did not answer within the webhook's time: get ApplicationSet argocd/guestbook: " +
		"context deadline exceeded"
	for name, tc := range map[string]struct {
		config   func(*settings.Config)
		wantCode int
		wantBody string
	}{
		"in enforce mode": {nil, 503, statusText(503, cannotDecide)},
		"in audit mode": {audit, 200, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"request-uid","allowed":true,"status":{"metadata":{},"code":200},` +
			`"auditAnnotations":{"decision":"error","error":"` + tooLate + `","mode":"audit"},` +
			`"warnings":["stepgate (audit mode): this sync could not be judged; see stepgate's log"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config := scenario.Config()
			if tc.config != nil {
				tc.config(&config)
			}
			trial := newTrial(config, hanging{})
			r := post(bytes.NewReader(syncReview(open)))
			r.URL.RawQuery = "timeout=2s" // the handler has 5 % of it, 100 ms, to say so
			rw := trial.serveHTTP(logr.Discard(), r)
			g.Expect(rw.Code).To(Equal(tc.wantCode))
			g.Expect(rw.Body.String()).To(Equal(tc.wantBody))
		})
	}
}
