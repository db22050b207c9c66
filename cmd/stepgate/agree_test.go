// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/webhook/settings"
)

// What simulate refuses to play, lint reports, unless it needs a cluster.
func TestLintKnowsWhatSimulateRefuses(t *testing.T) {
	raw, err := os.ReadFile(simulated)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, change := range map[string][]string{
		"name of the ApplicationSet":  {"  name: guestbook\n", "  name: ${NAME}\n"},
		"no name":                     {"  name: guestbook\n", ""},
		"name of an Application":      {"guestbook-{{.name}}", "guestbook_{{.name}}"},
		"a name twice":                {"{name: qa,", "{name: dev,"},
		"label":                       {"  template:\n", "  templatePatch: 'metadata: {labels: {a: b/c}}'\n  template:\n"},
		"key of a label":              {"  template:\n", "  templatePatch: 'metadata: {labels: {a b: c}}'\n  template:\n"},
		"template":                    {"guestbook-{{.name}}", "guestbook-{{.name | nope}}"},
		"templatePatch":               {"  template:\n", "  templatePatch: '{{'\n  template:\n"},
		"no YAML":                     {"  template:\n", "  templatePatch: |\n    a: b\n     c: d\n  template:\n"},
		"placeholder":                 {"goTemplate: true", "goTemplate: false"},
		"matrix of nothing":           {"    - list:\n        elements:", "    - matrix: {generators: []}\n    - list:\n        elements:"},
		"type":                        {"maxUpdate: 1", "maxUpdate: [1]"},
		"another version":             {"argoproj.io/v1alpha1", "argoproj.io/v1"},
		"steps that are dropped":      {"    rollingSync:", "    RollingSync:"},
		"no steps":                    {"      steps:", "      step:"},
		"a type that does not exist":  {"type: RollingSync", "type: Rolling"},
		"a policy without updates":    {"  strategy:\n", "  syncPolicy: {applicationsSync: create-only}\n  strategy:\n"},
		"a Helm template":             {"  name: guestbook\n", "  name: {{ .Values.name }}\n"},
		"a field of an unknown level": {"    rollingSync:", "    rollingSync: {}\n    rollingSyncs:"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(string(raw)).To(ContainSubstring(change[0]))
			text := strings.Replace(string(raw), change[0], change[1], 1)
			played := runWith(text, "simulate", "-f", "-")
			g.Expect(played.code).To(Equal(command.ExitError), played.out)
			linted := runWith(text, "lint", "-f", "-")
			g.Expect(linted.code).NotTo(BeZero(), "simulate says: %s\nlint says: %s", played.err, linted.out)
		})
	}
}

// simulate says what it does not play because the API server would drop it.
func TestSimulateNamesWhatIsDropped(t *testing.T) {
	g := NewWithT(t)
	raw, err := os.ReadFile(simulated)
	g.Expect(err).NotTo(HaveOccurred())
	r := runWith(strings.Replace(string(raw), "maxUpdate: 1", "maxUpdates: 1", 1), "simulate", "-f", "-")
	g.Expect(r.code).To(BeZero(), r.err)
	g.Expect(strings.Join(strings.Fields(r.out), " ")).To(ContainSubstring("The API server drops " +
		"spec.strategy.rollingSync.steps[2].maxUpdates, so nothing of it is played. stepgate lint says what to write."))
}

// simulate names every annotation that it does not play, and then ends with 2.
func TestSimulateNamesWhatIsNotPlayed(t *testing.T) {
	raw, err := os.ReadFile(simulated)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	values := map[string]string{
		settings.RequireAnnotation: "health",
		settings.BypassAnnotation:  time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z x"),
		settings.ExcludeAnnotation: time.Now().Add(time.Hour).UTC().Format("guestbook-qa 2006-01-02T15:04:05Z x"),
	}
	annotated := func(annotation string) ran {
		text := strings.Replace(string(raw), "  name: guestbook\n",
			"  name: guestbook\n  annotations: {"+annotation+": "+cmp.Or(values[annotation], "x")+"}\n", 1)
		return runWith(text, "simulate", "-f", "-")
	}
	played := []string{
		settings.ModeAnnotation, settings.PinAnnotation, settings.PauseAnnotation, settings.SoakAnnotation,
		settings.ApproveAnnotation, settings.MaxFailuresAnnotation, settings.TrackAnnotation,
	}
	for _, annotation := range settings.Annotations() {
		t.Run(annotation, func(t *testing.T) {
			g := NewWithT(t)
			r := annotated(annotation)
			if slices.Contains(played, annotation) {
				g.Expect(r.out + r.err).NotTo(ContainSubstring("Not played"))
				return
			}
			g.Expect(r.code).To(Equal(command.ExitError), r.out)
			g.Expect(r.out).To(ContainSubstring("Not played: " + annotation + "."))
			g.Expect(r.err).To(ContainSubstring(annotation))
		})
	}
}

// A bypass that is over changes nothing.
func TestSimulatePlaysWhatIsOver(t *testing.T) {
	g := NewWithT(t)
	raw, err := os.ReadFile(simulated)
	g.Expect(err).NotTo(HaveOccurred())
	r := runWith(strings.Replace(string(raw), "  name: guestbook\n", "  name: guestbook\n  annotations: "+
		"{stepgate.io/bypass: 2024-01-01T00:00:00Z x, stepgate.io/require: revision}\n",
		1), "simulate", "-f", "-")
	g.Expect(r.code).To(BeZero(), r.err)
}

// Audit mode shows what the conditions would hold.
func TestSimulatePlaysConditionsInAuditMode(t *testing.T) {
	g := NewWithT(t)
	r := runWith("", "simulate", "-f", "testdata/inputs/soak-of-a-step.yaml", "--mode", "audit")
	g.Expect(r.code).To(BeZero(), r.err)
	g.Expect(r.out).To(And(ContainSubstring("stepgate would hold the sync"), ContainSubstring("Soaking")))
	notPlayed := runWith("", "simulate", "-f", "testdata/inputs/not-played.yaml", "--mode", "audit")
	g.Expect(notPlayed.code).To(Equal(command.ExitError), notPlayed.out)
	alone := runWith("", "simulate", "-f", "testdata/inputs/not-played.yaml", "--without-gate")
	g.Expect(alone.out + alone.err).NotTo(ContainSubstring("Not played"))
}

// A failure holds up its own track only.
func TestSimulatePlaysTracks(t *testing.T) {
	g := NewWithT(t)
	raw, err := os.ReadFile(simulated)
	g.Expect(err).NotTo(HaveOccurred())
	labelled := strings.Replace(string(raw), "        env: \"{{.env}}\"\n",
		"        env: \"{{.env}}\"\n        region: \"{{.name}}\"\n", 1)
	tracks := strings.Replace(labelled, "  name: guestbook\n",
		"  name: guestbook\n  annotations: {stepgate.io/track: region}\n", 1)
	const held = "stepgate holds the sync"
	g.Expect(runWith(labelled, "simulate", "-f", "-", "--fail", "guestbook-dev").out).To(ContainSubstring(held))
	r := runWith(tracks, "simulate", "-f", "-", "--fail", "guestbook-dev")
	g.Expect(r.code).To(Equal(command.ExitFound), r.err)
	g.Expect(r.out).NotTo(ContainSubstring(held))
}
