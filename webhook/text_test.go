// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// hostile is text that a client could choose: new lines, a terminal's escapes, a NUL, a right-to-left override, and
// bytes that are no UTF-8.
const hostile = "x\nadmission webhook allowed\r\x1b[2K\x00\u202e\xff"

// Text that whoever may write the Application chooses shows up in denials, annotations, Events and logs. It may not
// break any of them.
func TestHostileText(t *testing.T) {
	const shown = "x?admission webhook allowed??[2K?[U+202E]?"
	for name, tc := range map[string]struct {
		row           row
		wantInMessage string
	}{
		"a blocker's health": {
			row:           row{scenario: blocked, cluster: func(c *scenario.Cluster) { c.Apps[1].Status.Health.Status = hostile }},
			wantInMessage: "qa (NotHealthy: " + shown + ")",
		},
		"a blocker's sync status": {
			row:           row{scenario: open, cluster: func(c *scenario.Cluster) { c.Apps[1].Status.Sync.Status = hostile }},
			wantInMessage: "qa (NotCompleted: " + shown + ")",
		},
		"a blocker's revision": {
			row:           row{scenario: open, cluster: func(c *scenario.Cluster) { c.Apps[1].Status.Sync.Revision = hostile }},
			wantInMessage: "qa (NotCompleted: compared to " + shown + ", not aaaaaaa)",
		},
		"the target's revision": {
			row:           row{scenario: open, write: func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = "v1" + hostile }},
			wantInMessage: "(NotCompleted: compared to aaaaaaa, not v1" + shown + ")",
		},
		"a bypass": {
			row: row{scenario: blocked, write: func(a *scenario.Attempt) {
				askBypass("alice")(a)
				a.After.Operation.Info[0].Value = hostile
			}},
			wantInMessage: "(bypass " + shown + " not honoured: " + scenario.ApplicationSetController + " is not argocd-server)",
		},
		"a long bypass": {
			row: row{scenario: blocked, write: func(a *scenario.Attempt) {
				askBypass("alice")(a)
				a.After.Operation.Info[0].Value = strings.Repeat("€", 100_000)
			}},
			wantInMessage: "(bypass " + strings.Repeat("€", 1021) + "...)",
		},
		"a user name": {
			row: row{scenario: blocked, write: func(a *scenario.Attempt) {
				askBypass(hostile)(a)
				a.User = scenario.ArgoCDServer
			}},
			wantInMessage: `(bypass INC-1 not honoured: user "x\nadmission webhook allowed\r\x1b[2K\x00\u202e`,
		},
		"an annotation": {
			row:           row{scenario: blocked, set: annotated(settings.ModeAnnotation, hostile, settings.RequireAnnotation, hostile, settings.BypassAnnotation, hostile)},
			wantInMessage: "qa (NotHealthy: Degraded)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, config, write := tc.row.prepare()
			trial := newTrial(config, c)
			var lines []string
			log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 9})

			resp := trial.gate.Handle(logr.NewContext(t.Context(), log),
				webhook.AdmissionRequest{AdmissionRequest: scenario.Pinned(write.Request())})

			g.Expect(resp.Allowed).To(BeFalse())
			g.Expect(resp.Result.Message).To(ContainSubstring(tc.wantInMessage))
			expectPlain(t, "message", resp.Result.Message, 3*1024)
			for _, cause := range resp.Result.Details.Causes {
				expectPlain(t, "cause", cause.Field+" "+cause.Message, 1024)
			}
			for key, value := range resp.AuditAnnotations {
				expectPlain(t, "audit annotation "+key, value, 1024)
			}
			for _, text := range resp.Warnings {
				expectPlain(t, "warning", text, 256)
			}
			for _, event := range trial.posted() {
				expectPlain(t, "note", event.Note, 1024)
			}
			g.Expect(lines).To(HaveLen(1), "one line per decision")
			expectPlain(t, "log", strings.ReplaceAll(lines[0], "µs", "us"), 8*1024)
		})
	}
}

func expectPlain(t *testing.T, what, text string, most int) {
	t.Helper()
	g := NewWithT(t)
	if what == "note" { // the API server counts its bytes
		g.Expect(len(text)).To(BeNumerically("<=", most), what)
	}
	g.Expect(utf8.RuneCountInString(text)).To(BeNumerically("<=", most), what)
	g.Expect(utf8.ValidString(text)).To(BeTrue(), what)
	g.Expect(strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })).To(Equal(-1), "%s: %q", what, text)
}

func TestWarning(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a short one stays":        {"short", "short"},
		"one that just fits stays": {strings.Repeat("x", 256), strings.Repeat("x", 256)},
		"a longer one is cut":      {strings.Repeat("x", 257), strings.Repeat("x", 253) + "..."},
		"control characters go":    {"a\nb€c\x7f", "a?b€c?"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(warning(tc.text)).To(Equal(tc.want))
		})
	}
}
