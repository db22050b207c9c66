// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/webhook/settings"
)

// defaults are the flags that nobody sets.
func defaults() Options {
	return Options{Version: "3.5", Mode: settings.Enforce, Seed: 1, Healthy: 20 * time.Second, Poll: 3 * time.Minute}
}

func with(change func(*Options)) Options {
	o := defaults()
	change(&o)
	return o
}

// read reads text as a file is read.
func read(objects *Objects, file, text string) error {
	objects.Text(file, []byte(text))
	return objects.Take()
}

// rolloutOf reads text as files are read.
func rolloutOf(t testing.TB, text string) *Rollout {
	t.Helper()
	var objects Objects
	NewWithT(t).Expect(read(&objects, "test.yaml", text)).To(Succeed())
	r, err := objects.Rollout("")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return r
}

func guestbook(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/guestbook.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// platform is a parent with waves, whose children nothing tracks yet.
func platform(t *testing.T, _ string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/platform.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// byWaves is the guestbook without RollingSync, in the waves -1, 5 and 20, in each of which one Application may sync at a
// time.
func byWaves(t *testing.T, text string) string {
	t.Helper()
	head, rest, found := strings.Cut(text, "  strategy:\n")
	NewWithT(t).Expect(found).To(BeTrue())
	_, template, _ := strings.Cut(rest, "  template:\n")
	for _, edit := range [][2]string{
		{"  name: guestbook\n", "  name: guestbook\n  annotations: {stepgate.io/waves: 'true', stepgate.io/max-update: '1'}\n"},
		{"env: dev}", "env: dev, wave: '-1'}"}, {"env: qa}", "env: qa, wave: '5'}"},
		{"env: prod}", "env: prod, wave: '20'}"}, {"env: prod}", "env: prod, wave: '20'}"},
	} {
		NewWithT(t).Expect(head).To(ContainSubstring(edit[0]))
		head = strings.Replace(head, edit[0], edit[1], 1)
	}
	template = strings.Replace(template, "      labels:\n",
		"      annotations: {argocd.argoproj.io/sync-wave: '{{.wave}}'}\n      labels:\n", 1)
	return head + "  template:\n" + strings.Replace(template, "      project: default\n",
		"      project: default\n      syncPolicy: {automated: {}}\n", 1)
}

// fleet is an ApplicationSet with 200 Applications in 5 steps.
func fleet(t testing.TB) string {
	t.Helper()
	var elements, steps strings.Builder
	for _, step := range []struct {
		env, most string
		size      int
	}{{"canary", "", 4}, {"dev", "10", 40}, {"qa", `"10%"`, 50}, {"prod-eu", "5", 56}, {"prod-us", "", 50}} {
		for i := range step.size {
			fmt.Fprintf(&elements, "          - {name: %s-%02d, env: %s}\n", step.env, i+1, step.env)
		}
		fmt.Fprintf(&steps, "        - matchExpressions: [{key: env, operator: In, values: [%s]}]\n", step.env)
		if step.most != "" {
			fmt.Fprintf(&steps, "          maxUpdate: %s\n", step.most)
		}
	}
	text := guestbook(t)
	head, _, _ := strings.Cut(text, "          - {name: dev")
	_, template, _ := strings.Cut(text, "  template:\n")
	return head + elements.String() + "  strategy:\n    type: RollingSync\n    rollingSync:\n      steps:\n" +
		steps.String() + "  template:\n" + template
}

// often is a commit every ten minutes, and soaking has the later steps soak for an hour.
var often = &Commits{Every: 10 * time.Minute, For: 6 * time.Hour}

func soaking(t *testing.T, text string) string {
	t.Helper()
	before, after, found := strings.Cut(text, "  name: guestbook\n")
	NewWithT(t).Expect(found).To(BeTrue())
	return before + "  name: guestbook\n  annotations: {stepgate.io/soak: 1h}\n" + after
}

// TestTrainsKeepUp if older commits may be deployed, and what is due is started; not otherwise.
func TestTrainsKeepUp(t *testing.T) {
	for pin, start := range map[string]bool{"compared": false, "candidate": true} {
		g := NewWithT(t)
		report, err := Play(t.Context(), rolloutOf(t, soaking(t, guestbook(t))), with(func(o *Options) {
			o.Commits, o.Pin, o.Start = often, pin, start
		}))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(report.Fine()).To(Equal(start))
		g.Expect(report.Commits.Steps[0].Deployed).To(Equal(36))
		g.Expect(report.Commits.Steps[2].Deployed > 20).To(Equal(start), "of 36, of which 12 have to soak twice")
	}
}

func TestParseCommits(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "every 10m for 6h": "every 10m0s for 6h0m0s", "  every  90s for 1h ": "every 1m30s for 1h0m0s",
		"10m for 6h": `"10m for 6h" is not of the form "every 10m for 6h"`, "every soon for 6h": `time: invalid duration "soon"`,
		"every 10m for ever": `time: invalid duration "ever"`, "every 1ms for 1h": "a commit every 1ms is too often; 1s at least",
		"every 2h for 1h": "1h0m0s is shorter than the 2h0m0s from one commit to the next", "every 1s for 1h": "3600 commits are too many; 500 at most",
		"every -1m for 1h": "a commit every -1m0s is too often; 1s at least",
	} {
		g := NewWithT(t)
		commits, err := ParseCommits(text)
		switch {
		case err != nil:
			g.Expect(err).To(MatchError(want), text)
		case commits == nil:
			g.Expect(want).To(BeEmpty(), text)
		default:
			g.Expect(fmt.Sprintf("every %s for %s", commits.Every, commits.For)).To(Equal(want))
		}
	}
}

func TestGoldens(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(t *testing.T, text string) string
		options Options
	}{
		"in-order":        {options: defaults()},
		"without-gate":    {options: with(func(o *Options) { o.Mode = settings.Off })},
		"audit":           {options: with(func(o *Options) { o.Mode = settings.Audit })},
		"argocd-3.6":      {options: with(func(o *Options) { o.Version = "3.6" })},
		"train-compared":  {change: soaking, options: with(func(o *Options) { o.Commits, o.Pin = often, "compared" })},
		"train-candidate": {change: soaking, options: with(func(o *Options) { o.Commits, o.Pin = often, "candidate" })},
		"train-started":   {change: soaking, options: with(func(o *Options) { o.Commits, o.Pin, o.Start = often, "candidate", true })},
		"degraded":        {options: with(func(o *Options) { o.Failures = map[string]Failure{"guestbook-qa": FailsHealth} })},
		"degraded-without-gate": {options: with(func(o *Options) {
			o.Mode, o.Failures = settings.Off, map[string]Failure{"guestbook-prod-eu": FailsHealth}
		})},
		"sync-failed": {options: with(func(o *Options) { o.Failures = map[string]Failure{"guestbook-dev": FailsSync} })},
		"never": {
			change: func(_ *testing.T, text string) string {
				return strings.Replace(text, "maxUpdate: 1", "maxUpdate: 0%", 1)
			},
			options: defaults(),
		},
		"switched-off": {
			change: func(_ *testing.T, text string) string {
				return strings.Replace(text, "  namespace: argocd\n",
					"  namespace: argocd\n  annotations: {stepgate.io/mode: \"off\"}\n", 1)
			},
			options: defaults(),
		},
		"other-step": {
			change: func(_ *testing.T, text string) string {
				text = strings.Replace(text, "{name: qa, env: qa}", "{name: qa, env: staging}", 1)
				return strings.Replace(text, "targetRevision: main", "targetRevision: env/{{.env}}", 1)
			},
			options: with(func(o *Options) { o.GitWebhook = true }),
		},
		"hydrated": {
			change: func(_ *testing.T, text string) string {
				return strings.Replace(text, `      source:
        repoURL: https://github.com/example/guestbook.git
        targetRevision: main
        path: deploy/{{.name}}
`, `      sourceHydrator:
        drySource: {repoURL: https://github.com/example/guestbook.git, targetRevision: main, path: "deploy/{{.name}}"}
        syncSource: {targetBranch: "env/{{.name}}", path: "."}
`, 1)
			},
			options: defaults(),
		},
		"two-sources": {
			change: func(_ *testing.T, text string) string {
				return strings.Replace(text, `      source:
        repoURL: https://github.com/example/guestbook.git
        targetRevision: main
        path: deploy/{{.name}}
`, `      sources:
        - {repoURL: https://charts.example.com, chart: guestbook, targetRevision: 1.x}
        - {repoURL: https://github.com/example/values.git, targetRevision: main, ref: values}
`, 1)
			},
			options: with(func(o *Options) { o.Failures = map[string]Failure{"guestbook-qa": FailsHealth} }),
		},
		"parent-in-order":     {change: platform, options: defaults()},
		"parent-without-gate": {change: platform, options: with(func(o *Options) { o.Mode = settings.Off })},
		"parent-by-hand": {
			change: func(t *testing.T, text string) string {
				return strings.ReplaceAll(platform(t, text), "{automated: {selfHeal: true}}", "{}")
			},
			options: with(func(o *Options) { o.ByHand = []string{"crds"} }),
		},
		"parent-soaks": {
			change: func(t *testing.T, text string) string {
				return strings.Replace(platform(t, text), `"10=2"`, `"2", stepgate.io/soak: "20=1h"`, 1)
			},
			options: with(func(o *Options) { o.Commits, o.Pin = often, "candidate" }),
		},
		"set-by-waves":              {change: byWaves, options: defaults()},
		"set-by-waves-without-gate": {change: byWaves, options: with(func(o *Options) { o.Mode = settings.Off })},
		"fleet":                     {change: func(t *testing.T, _ string) string { return fleet(t) }, options: defaults()},
		"fleet-degraded": {
			change:  func(t *testing.T, _ string) string { return fleet(t) },
			options: with(func(o *Options) { o.Failures = map[string]Failure{"guestbook-qa-07": FailsHealth} }),
		},
		"fleet-without-gate": {
			change:  func(t *testing.T, _ string) string { return fleet(t) },
			options: with(func(o *Options) { o.Mode = settings.Off }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := guestbook(t)
			if tc.change != nil {
				text = tc.change(t, text)
			}
			report, err := Play(context.Background(), rolloutOf(t, text), tc.options)
			g.Expect(err).NotTo(HaveOccurred())
			for suffix, s := range map[string]screen.Screen{
				"80.golden": {Width: 80}, "140.golden": {Width: 140}, "80-colour.golden": {Width: 80, Colour: true}, "140-colour.golden": {Width: 140, Colour: true},
			} {
				lines := report.Text(s)
				for _, line := range lines {
					g.Expect(screen.Length(line)).To(BeNumerically("<=", s.Width), line)
				}
				golden.Expect(t, name+"."+suffix, strings.Join(lines, "\n")+"\n")
			}
			if !strings.HasPrefix(name, "fleet") {
				golden.Expect(t, name+".json", indented(t, report))
			}
		})
	}
}

func indented(t *testing.T, report *Report) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	NewWithT(t).Expect(encoder.Encode(report)).To(Succeed())
	return out.String()
}
