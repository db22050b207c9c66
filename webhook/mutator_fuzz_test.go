// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/jsonedit"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// FuzzWebhooks sends edited writes through both webhooks, as an API server does.
func FuzzWebhooks(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1})
	random := rand.New(rand.NewPCG(9, 10))
	for range 50 {
		f.Add(randomBytes(random))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkWebhooks(t, data) })
}

// TestWebhooksRandomEdits checks many seeded writes, and that enough of them were worth checking.
func TestWebhooksRandomEdits(t *testing.T) {
	random, rounds := rand.New(rand.NewPCG(11, 12)), 1500
	if testing.Short() {
		rounds /= 5
	}
	seen := map[string]int{}
	for range rounds {
		seen[checkWebhooks(t, randomBytes(random))]++
	}
	t.Log(seen)
	for _, met := range []string{"pinned, allowed", "pinned, denied", "held, allowed", "as it was, allowed",
		"as it was, denied"} {
		NewWithT(t).Expect(seen[met]).To(BeNumerically(">", rounds/200), met)
	}
}

func randomBytes(random *rand.Rand) []byte {
	data := make([]byte, 1+random.IntN(24))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// editedWrite makes of bytes a cluster and a write of prod's operation: the first byte chooses, the others edit it.
func editedWrite(g *WithT, data []byte) (*scenario.Cluster, admissionv1.AdmissionRequest) {
	var first int
	if len(data) > 0 {
		first, data = int(data[0]), data[1:]
	}
	c := scenario.Of([]string{open, blocked}[first%2])
	write := withSlots(scenario.SyncOf(c, "prod"))
	write.User = []string{scenario.ApplicationSetController, scenario.ArgoCDServer, "jane"}[first/2%3]
	write.After.Operation.InitiatedBy.Automated = write.User == scenario.ApplicationSetController
	if first/6%3 == 0 {
		write.After.Spec.Source.Path = "elsewhere" // spec and operation in one patch
	}
	if first/18%2 == 0 {
		write.After.Status.OperationState = nil // as argocd-server clears it
	}
	req := write.Request()
	editor := jsonedit.Editor{
		Within: []string{"metadata.labels", "metadata.ownerReferences", "operation", "spec", "status"},
		Values: []any{"1", "2", "3", "main", scenario.Commit("a"), scenario.Commit("b"), []any{scenario.Commit("a")}, []any{scenario.Commit("a"), scenario.Commit("b")}},
	}
	edited, err := editor.Edit(data, req.Object.Raw, req.OldObject.Raw)
	g.Expect(err).NotTo(HaveOccurred())
	req.Object.Raw, req.OldObject.Raw = edited[0], edited[1]
	return c, req
}

// checkWebhooks checks the properties of both webhooks together for one write, and says what they did.
func checkWebhooks(t *testing.T, data []byte) string {
	t.Helper()
	g := NewWithT(t)
	c, req := editedWrite(g, data)
	both, alone := newTrial(scenario.Pinning(), c), newTrial(scenario.Pinning(), c)
	mutator := both.mutator(c)
	sent := req.Object.Raw
	did := "as it was"
	if patches := mutate(t, mutator, req); len(patches) > 0 {
		req.Object.Raw = patchedBy(g, sent, patches)
		did = "pinned"
		if reflect.DeepEqual(fieldsOf(g, req.Object.Raw)["operation"], fieldsOf(g, req.OldObject.Raw)["operation"]) {
			did = "held"
		}
		g.Expect(mutate(t, mutator, req)).To(BeEmpty(), "it is idempotent")
	}
	before, after := fieldsOf(g, sent), fieldsOf(g, req.Object.Raw)
	delete(before, "operation")
	operation := after["operation"]
	delete(after, "operation")
	if did == "held" {
		kept(before, fieldsOf(g, req.OldObject.Raw))
	}
	g.Expect(after).To(Equal(before), "only the operation changes")

	allowed := both.handle(req).Allowed
	if !allowed {
		return did + ", denied"
	}
	g.Expect(alone.handle(req).Allowed).To(BeTrue(), "the Gate alone refuses what is stored: %s", req.Object.Raw)
	if operation != nil {
		g.Expect(early(c, req)).To(BeFalse(), "an early start is allowed: %s", req.Object.Raw)
	}
	return did + ", allowed"
}

// kept puts the result of the last operation back into an object that lacks it.
func kept(object, old map[string]any) {
	status, is := object["status"].(map[string]any)
	before, was := old["status"].(map[string]any)
	if is && was && status["operationState"] == nil && before["operationState"] != nil {
		status["operationState"] = before["operationState"]
	}
}

// mutate is the answer of a Mutator.
func mutate(t *testing.T, m *Mutator, req admissionv1.AdmissionRequest) []byte {
	t.Helper()
	g := NewWithT(t)
	resp := m.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
	g.Expect(resp.Allowed).To(BeTrue(), "it admits everything")
	if len(resp.Patches) == 0 {
		return nil
	}
	text, err := json.Marshal(resp.Patches)
	g.Expect(err).NotTo(HaveOccurred())
	return text
}

func patchedBy(g *WithT, object, patches []byte) []byte {
	patch, err := jsonpatch.DecodePatch(patches)
	g.Expect(err).NotTo(HaveOccurred())
	raw, err := patch.Apply(object)
	g.Expect(err).NotTo(HaveOccurred())
	return raw
}

func fieldsOf(g *WithT, raw []byte) map[string]any {
	var fields map[string]any
	g.Expect(json.Unmarshal(raw, &fields)).To(Succeed())
	return fields
}

// early reports whether a write starts a sync of prod in the third step while an earlier step is not done. It reads the
// write in another way than stepgate does, but for the two syncs that are never early: a rollback, and one of what is
// deployed.
func early(c *scenario.Cluster, req admissionv1.AdmissionRequest) bool {
	var app, old argo.Application
	if json.Unmarshal(req.Object.Raw, &app) != nil || json.Unmarshal(req.OldObject.Raw, &old) != nil ||
		app.Operation == nil {
		return false
	}
	owners := []metav1.OwnerReference{scenario.OwnedBy("guestbook")}
	owned := reflect.DeepEqual(app.OwnerReferences, owners) || reflect.DeepEqual(old.OwnerReferences, owners)
	inThird := app.Labels["step"] == "3" || old.Labels["step"] == "3"
	starts := !reflect.DeepEqual(app.Operation, old.Operation) && (app.Operation.Sync == nil || !app.Operation.Sync.DryRun)
	if !owned || !inThird || !starts || c.Apps[1].Status.Health.Status == "Healthy" {
		return false
	}
	w, err := judge.NewWrite(req, argocd.Tracking{})
	return err == nil && !w.Target.Operation.RollsBack && !w.Target.Operation.Redeploys
}
