// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestTheAuditLogIsReadAsItGrows(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "audit.log")
	file, err := os.Create(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(file.Close()).To(Succeed()) }()
	log := &auditLog{path: path}
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{`{"verb":"create"}` + "\n" + `{"verb":"up`, []string{"create"}},
		{`date"}` + "\n", []string{"create", "update"}},
		{`{"verb":"patch"}` + "\n", []string{"create", "update", "patch"}},
	} {
		_, err := file.WriteString(tc.text)
		g.Expect(err).NotTo(HaveOccurred())
		writes, err := log.writes()
		g.Expect(err).NotTo(HaveOccurred())
		var verbs []string
		for _, w := range writes {
			verbs = append(verbs, w.Verb)
		}
		g.Expect(verbs).To(Equal(tc.want))
	}
	_, err = file.WriteString("no JSON\n")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = log.writes()
	g.Expect(err).To(MatchError(ContainSubstring(path)))
	g.Expect(file.Truncate(1)).To(Succeed())
	_, err = log.writes()
	g.Expect(err).To(MatchError(ContainSubstring("rotated")))
}

func TestCountsOfTheAuditLog(t *testing.T) {
	g := NewWithT(t)
	o := ended(on, 0, 3)
	o.rollout.members = []*member{{name: "x-dev"}}
	by := func(user, namespace, name string, code int, seconds float64) write {
		var w write
		w.User.Username, w.ObjectRef.Namespace, w.ObjectRef.Name = user, namespace, name
		w.ResponseStatus.Code, w.RequestReceivedTimestamp = code, after(seconds)
		if w.ObjectRef.Resource = "applications"; name == "x" {
			w.ObjectRef.Resource = "applicationsets"
		}
		return w
	}
	const controller = "system:serviceaccount:argocd:argocd-applicationset-controller"
	const gate = "system:serviceaccount:stepgate-on:stepgate-on"
	held := by(controller, "on", "x-dev", 200, 3)
	held.Annotations = map[string]string{heldAnnotation: "hold"}
	start, trial := by(gate, "on", "x-dev", 200, 3), by(gate, "on", "x-dev", 200, 3)
	start.RequestURI = "/apis/argoproj.io/v1alpha1/namespaces/on/applications/x-dev?fieldManager=stepgate-start"
	trial.RequestURI = start.RequestURI + "&dryRun=All"
	g.Expect(o.counts([]write{
		by(controller, "on", "x-dev", 200, 1), by(controller, "on", "x-dev", 403, 2), by(controller, "on", "x", 200, 3),
		by(gate, "on", "x-dev", 200, 2), by("jane", "on", "x-dev", 403, 2), by("jane", "on", "x-dev", 200, 2),
		by(controller, "off", "x-dev", 200, 1), by(controller, "on", "y-dev", 200, 1), by(controller, "on", "x-dev", 200, -1),
		by(gate, "on", "x-dev", 200, 61), held, start, trial,
	})).To(Equal(counts{denials: 1, refusals: 1, held: 1, refreshes: 1, starts: 1, controller: 4, written: 7}))
	g.Expect(counts{controller: 3}.perMinute(30 * time.Second)).To(Equal(6.0))
}

func TestRefusalsOfTheController(t *testing.T) {
	by := func(user, namespace string, code int, message string) write {
		var w write
		w.User.Username, w.ObjectRef.Namespace, w.ObjectRef.Name = user, namespace, "x-qa"
		w.ResponseStatus.Code, w.ResponseStatus.Message = code, message
		w.RequestReceivedTimestamp = time.Date(2026, 11, 24, 10, 31, 34, 250e6, time.UTC)
		return w
	}
	paused := func(at string) string {
		return "denied the request: step 1 of ApplicationSet on/x is paused (Paused: a migration at noon, by alice at " +
			"2026-11-24T" + at + "). Next: stepgate resume x"
	}
	const controller = "system:serviceaccount:argocd:argocd-applicationset-controller"
	for name, tc := range map[string]struct {
		write write
		want  int
	}{
		"refused":                              {by(controller, "on", 403, "denied"), 1},
		"the webhook could not be called":      {by(controller, "on", 500, `failed calling webhook "operation.stepgate.io"`), 1},
		"refused for a reason of Argo CD":      {by(controller, "on", 409, "the object has been modified"), 0},
		"admitted":                             {by(controller, "on", 200, ""), 0},
		"somebody else is refused":             {by("jane", "on", 403, "denied"), 0},
		"refused by a gate that does not hold": {by(controller, "refusing", 403, "denied"), 0},
		"paused while it was under way":        {by(controller, "on", 403, paused("10:31:34Z")), 0},
		"paused before":                        {by(controller, "on", 403, paused("10:31:33Z")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var sums totals
			sums.refused([]write{tc.write, tc.write}, on, starting)
			g.Expect(sums.onRefused).To(Equal(2 * tc.want))
			g.Expect(sums.problems).To(HaveLen(tc.want), "one text for each object")
		})
	}
}

func TestAWriteThatIsOvertaken(t *testing.T) {
	const denied = `admission webhook "operation.stepgate.io" denied the request: not yet`
	for name, tc := range map[string]struct {
		code    int
		message string
		pinned  bool
		want    bool
	}{
		"let through, then denied":   {code: 403, message: denied, pinned: true, want: true},
		"not let through":            {code: 403, message: denied},
		"denied by somebody else":    {code: 403, message: "exceeded quota", pinned: true},
		"the webhook did not answer": {code: 500, message: `failed calling webhook "operation.stepgate.io"`, pinned: true},
		"admitted":                   {code: 200, pinned: true},
	} {
		t.Run(name, func(t *testing.T) {
			var w write
			w.ResponseStatus.Code, w.ResponseStatus.Message = tc.code, tc.message
			if tc.pinned {
				w.Annotations = map[string]string{pinnedAnnotation: "a"}
			}
			NewWithT(t).Expect(w.overtaken()).To(Equal(tc.want))
		})
	}
}
