// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// TestWritesThatAreNoOperationWritesNeverReachTheWebhook counts the calls that the gate gets, of both webhooks.
func TestWritesThatAreNoOperationWritesNeverReachTheWebhook(t *testing.T) {
	r := newRollout(t)
	r.Expect(r.sync(cluster.ControllerAccount, "dev")).To(Succeed())
	before := r.requests()

	merge := func(user, patch string) func() error {
		return func() error {
			return r.as(user).Patch(r.ctx, r.app("dev"), client.RawPatch(types.MergePatchType, []byte(patch)))
		}
	}
	for _, row := range []struct {
		name  string
		write func() error
	}{
		{"the same operation", func() error { return r.as(cluster.ControllerAccount).Update(r.ctx, r.app("dev")) }},
		{"a status patch while the operation is set", func() error {
			return r.update(cluster.ControllerAccount, "dev", func(app *argo.Application) { guestbook.Start(app, r.Tick()) })
		}},
		{"a terminate", merge(cluster.ServerAccount, `{"status":{"operationState":{"phase":"Terminating"}}}`)},
		{"a refresh annotation", merge(cluster.Human, `{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`)},
		{"a spec change", merge(cluster.Human, `{"spec":{"source":{"targetRevision":"main"}}}`)},
		{"a write of a later app", func() error { return r.as(cluster.Human).Update(r.ctx, r.app("prod")) }},
		{"a delete", func() error { return r.as(cluster.Human).Delete(r.ctx, r.app("qa")) }},
		{"an Application of no ApplicationSet", func() error {
			app := guestbook.Application(r.Set, "prod")
			app.Name, app.OwnerReferences, app.Operation = "alone", nil, guestbook.UserSync("admin")
			return r.as(cluster.Human).Create(r.ctx, app)
		}},
	} {
		r.Expect(row.write()).To(Succeed(), row.name)
		r.Expect(r.requests()).To(Equal(before), "%s reached the webhook", row.name)
	}
	r.Expect(r.as(cluster.ControllerAccount).Patch(r.ctx, r.app("dev"), client.RawPatch(types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/operation"}]`)))).To(Succeed())
	r.Expect(r.requests()).To(Equal(before), "an operation removal reached the webhook")

	// The counter does count.
	r.Expect(r.sync(cluster.ControllerAccount, "prod")).NotTo(Succeed())
	r.Expect(r.requests()).To(Equal(before+2), "each webhook once")
}

// TestMatchConditionsAreTotal writes Applications with fields left out, for which an expression without a guard would
// fail: under failurePolicy Fail that would reject the write.
func TestMatchConditionsAreTotal(t *testing.T) {
	r := newRollout(t)
	for _, body := range []string{
		`{"operation":null}`,
		`{"operation":{}}`,
		`{"operation":{"sync":null}}`,
		`{"metadata":{"ownerReferences":null,"labels":null},"operation":{"info":[]}}`,
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]},"operation":{"retry":{}}}`,
	} {
		err := r.as(cluster.Human).Patch(r.ctx, r.app("dev"), client.RawPatch(types.MergePatchType, []byte(body)))
		r.Expect(err).NotTo(HaveOccurred(), body)
	}
}
