// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/webhook/ledger"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// told is a History with everything that it can have.
func told() *History {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	const source, commit = "https://git.example.com/deploy  main", "3f2abc1d0000000000000000000000000000000"
	h := New(at(300))
	h.Problems = []Problem{{"argocd/other", "nothing is written down yet"}}
	h.ApplicationSets = []*ledger.Log{{
		Version: 1, UID: "guestbook-uid", Set: "argocd/guestbook", Since: at(-600),
		Rollouts: []ledger.Rollout{
			{
				Source: source, Revision: commit + "1", ComparedAt: at(0), StartedAt: at(0), EndedAt: at(47), Result: ledger.Complete,
				Steps: []ledger.Step{
					{Step: 1, Applications: 1, Done: 1, StartedAt: at(0), CompletedAt: at(2)},
					{
						Step: 2, Applications: 12, Done: 12, StartedAt: at(12), CompletedAt: at(47), By: []string{"bob"},
						Waits: []ledger.Wait{
							{Reason: "Soaking", For: "dev (Soaking: until 12:12)", Since: at(2), Until: at(12)},
							{Reason: "NotHealthy", For: "dev (NotHealthy: Degraded)", Since: at(0), Until: at(2)},
						},
						Approvals: []ledger.Approval{{By: "=alice", At: at(11)}},
						Evidence:  []ledger.Evidence{{Object: "analysisruns.argoproj.io/smoke", Answer: "yes", At: at(10)}},
						Failures: []ledger.Failure{
							{Application: "prod-eu", What: "it is Degraded", At: at(15), RepairedAt: at(40)},
							{Application: "prod-us\u202e<b>", What: "its sync has failed", At: at(16)},
						},
					},
				},
				Bypasses: []ledger.Bypass{{Why: "until 13:00: incident 7", At: at(14)}},
			},
			{
				Source: source, Revision: commit + "2", ComparedAt: at(100), StartedAt: at(100), EndedAt: at(110),
				Result: ledger.Superseded, Steps: []ledger.Step{
					{Step: 1, Applications: 1, Done: 1, StartedAt: at(100), CompletedAt: at(102)},
					{Step: 2, Applications: 12, Skipped: true},
				},
			},
			{
				Source: source, Revision: commit + "1", Back: true, ComparedAt: at(280), StartedAt: at(280),
				Steps: []ledger.Step{
					{Step: 1, Applications: 1, StartedAt: at(280)},
					{
						Step: 2, Applications: 12,
						Waits: []ledger.Wait{{Reason: "NotHealthy", For: "dev (NotHealthy: Progressing)", Since: at(281)}},
					},
				},
			},
		},
	}}
	return h
}

func TestScreens(t *testing.T) {
	g := NewWithT(t)
	for name, width := range map[string]int{"history.80.golden": 80, "history.120.golden": 120} {
		golden.Expect(t, name, strings.Join(Text(screen.Screen{Width: width}, told(), 0), "\n")+"\n")
	}
	var page, table bytes.Buffer
	g.Expect(HTML(&page, told())).To(Succeed())
	golden.Expect(t, "history.html", page.String())
	g.Expect(CSV(&table, told())).To(Succeed())
	golden.Expect(t, "history.csv", table.String())
	g.Expect(page.String()).NotTo(Or(ContainSubstring("<b>"), ContainSubstring("\u202e")))
	g.Expect(table.String()).To(ContainSubstring(",'=alice 2026-11-30T12:11:00Z,"), "no formula")
	g.Expect(Text(screen.Screen{Width: 80}, told(), 1)).To(ContainElement("  and 2 older; --limit 0 shows all"))
}

// TestWavesHaveTheirNumbers in all forms, whatever the ledger calls them.
func TestWavesHaveTheirNumbers(t *testing.T) {
	g := NewWithT(t)
	step := func(wave int) ledger.Step {
		return ledger.Step{
			Step: policy.WaveStep(wave) + 1, Applications: 1, Approvals: []ledger.Approval{{By: "alice", At: noon}},
			Failures: []ledger.Failure{{Application: "prod", What: "it is Degraded", At: noon}},
		}
	}
	kept := &ledger.Log{Set: "argocd/guestbook", Since: noon, Rollouts: []ledger.Rollout{{
		Source: "main", Revision: "1", ComparedAt: noon, Steps: []ledger.Step{step(-1), step(0), step(20)},
	}}}
	h := New(noon)
	h.ApplicationSets = append(h.ApplicationSets, kept.Told())
	g.Expect(kept.Rollouts[0].Steps[0].Step).To(Equal(policy.WaveStep(-1)+1), "what is kept is as it was")
	g.Expect(kept.Rollouts[0].Steps[0].Wave).To(BeNil())

	var page, table, object bytes.Buffer
	lines := strings.Join(Text(screen.Screen{Width: 120}, h, 0), "\n")
	g.Expect(lines).To(MatchRegexp(`(?s)STEP .* wave -1 .* wave 0 .* wave 20 .* wave -1: approved by alice`))
	g.Expect(HTML(&page, h)).To(Succeed())
	g.Expect(page.String()).To(And(ContainSubstring("<td>wave 20</td>"),
		ContainSubstring("<li>Wave -1: approved by alice")))
	g.Expect(CSV(&table, h)).To(Succeed())
	g.Expect(table.String()).To(And(ContainSubstring(",wave -1,1,0,"), ContainSubstring(",wave 0,"),
		ContainSubstring(",wave 20,")))
	printer, err := genericclioptions.NewJSONYamlPrintFlags().ToPrinter("json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(printer.PrintObj(h, &object)).To(Succeed())
	golden.Expect(t, "by-waves.json", object.String())
	for form, text := range map[string]string{
		"text": lines, "HTML": page.String(), "CSV": table.String(), "JSON": object.String(),
	} {
		g.Expect(text).NotTo(ContainSubstring("6710"), form)
	}
}
