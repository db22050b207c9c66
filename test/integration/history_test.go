// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// TestHistory reads a log from a real API server: where there is none, where nobody may read it, where it is edited, and
// as text, CSV and a page. Rollouts that Argo CD has no record of are judged by it.
func TestHistory(t *testing.T) {
	r := newRollout(t)
	says := func(want string, args ...string) {
		t.Helper()
		a := r.ask(append([]string{"history"}, args...)...)
		r.Expect(a.code).To(Equal(2), a.out)
		r.Expect(a.err).To(ContainSubstring(want))
	}
	says("none of stepgate gates this namespace")
	r.deployment("--ledger", "--installation="+r.namespace+"/stepgate")
	says("has kept nothing of this rollout yet", "guestbook")
	says(`no ApplicationSet "nobody" in namespace `+r.namespace, "nobody")
	says("--limit: -1 is less than 0", "--limit=-1")
	r.Expect(r.ask("history", "--allow-empty").code).To(Equal(0))

	set := r.Set
	at := func(minutes int) time.Time {
		return time.Now().Truncate(time.Second).Add(time.Duration(minutes) * time.Minute)
	}
	text, err := ledger.EncodeLog(&ledger.Log{
		Version: ledger.Version, UID: set.UID, Set: r.namespace + "/guestbook", Since: at(-100),
		Rollouts: []ledger.Rollout{{
			Source: "https://git.example.com/deploy  main", Revision: "1.2.3", ComparedAt: at(-60), StartedAt: at(-60),
			EndedAt: at(-40), Result: ledger.Complete, Steps: []ledger.Step{
				{Step: 1, Applications: 1, Done: 1, StartedAt: at(-60), CompletedAt: at(-50)},
				{
					Step: 2, Applications: 1, Done: 1, StartedAt: at(-55), CompletedAt: at(-40),
					Approvals: []ledger.Approval{{By: "alice", At: at(-56)}},
				},
			},
		}},
	})
	r.Expect(err).NotTo(HaveOccurred())
	part := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.namespace, Name: ledger.ID{Set: set.UID}.Name(), Labels: map[string]string{ledger.Label: string(set.UID)},
		},
		BinaryData: map[string][]byte{ledger.RolloutsKey: text},
	}
	r.Expect(shared.Admin.Create(r.ctx, part)).To(Succeed())
	for format, wants := range map[string]string{
		"": "step 2: approved by alice", "csv": "1.2.3,complete", "json": `"revision": "1.2.3"`, "yaml": "revision: 1.2.3",
		"html": "<h3>✔ complete after 20m",
	} {
		a := r.ask("history", "guestbook", "-o", format)
		r.Expect(a.code).To(Equal(0), a.err)
		r.Expect(a.out).To(ContainSubstring(wants))
		if folder := os.Getenv("SCREENS"); folder != "" {
			r.Expect(os.WriteFile(filepath.Join(folder, "history."+format), []byte(a.out), 0o600)).To(Succeed())
		}
	}
	r.Expect(r.ask("history").out).To(ContainSubstring("step 2: approved by alice"), "of all ApplicationSets")
	a := r.ask("audit")
	r.Expect(a.code).To(Equal(1), a.err)
	r.Expect(a.out).To(And(
		ContainSubstring("the first Application (step 2) started 5m before the last one (step 1) had finished"),
		ContainSubstring("1 rollout is told by stepgate's ledger")))

	r.allow("reader", "get", "list")
	says("where stepgate is installed cannot be read", "--as", "reader")

	part.BinaryData[ledger.RolloutsKey] = text[:40]
	r.Expect(shared.Admin.Update(r.ctx, part)).To(Succeed())
	says("The history cannot be read, and stepgate begins it anew")
	r.Expect(r.ask("audit", "--allow-empty").code).To(Equal(0), "an audit does without")
}
