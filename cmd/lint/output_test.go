// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/printers"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
)

// shown are the inputs of the goldens: the files of a directory, as somebody would give them.
func shown(t *testing.T, names ...string) *Report {
	t.Helper()
	var in Input
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		in.Text("appsets/"+name, data)
	}
	in.Link()
	return in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true})
}

// The screens, at two widths, plain and coloured.
func TestScreens(t *testing.T) {
	for name, r := range map[string]*Report{
		"mistakes": shown(t, "guestbook.yaml"), "several": shown(t, "fleet.yaml", "payments.yaml", "values.yaml", "chart.yaml"), "good": shown(t, "payments.yaml"),
	} {
		for _, width := range []int{80, 140} {
			for _, colour := range []bool{false, true} {
				style := map[bool]string{false: "plain", true: "colour"}[colour]
				t.Run(fmt.Sprint(name, width, style), func(t *testing.T) {
					lines := r.Lines(screen.Screen{Width: width, Colour: colour})
					golden.Expect(t, fmt.Sprintf("%s-%d-%s.golden", name, width, style), strings.Join(lines, "\n")+"\n")
					for _, line := range lines {
						// A path and the name of a file stay whole: they are there to be copied.
						if strings.Count(strings.TrimSpace(line), " ") > 0 {
							NewWithT(t).Expect(screen.Length(line)).To(BeNumerically("<=", width), line)
						}
					}
				})
			}
		}
	}
}

func TestFormats(t *testing.T) {
	g := NewWithT(t)
	r := shown(t, "guestbook.yaml", "chart.yaml")
	var text bytes.Buffer
	g.Expect((&printers.JSONPrinter{}).PrintObj(r, &text)).To(Succeed())
	golden.Expect(t, "mistakes.json.golden", text.String())
	text.Reset()
	g.Expect((&printers.YAMLPrinter{}).PrintObj(r, &text)).To(Succeed())
	golden.Expect(t, "mistakes.yaml.golden", text.String())
	golden.Expect(t, "mistakes.github.golden", strings.Join(r.GitHub(), "\n")+"\n")
	log, err := r.SARIF("v1.0.0")
	g.Expect(err).NotTo(HaveOccurred())
	golden.Expect(t, "mistakes.sarif.golden", string(log)+"\n")
}

// SARIF 2.1.0 wants every result to have a rule of the driver, at its index, and a message; GitHub wants a location
// with a file.
func TestSARIF(t *testing.T) {
	g := NewWithT(t)
	r := shown(t, "guestbook.yaml", "chart.yaml")
	text, err := r.SARIF("v1.0.0")
	g.Expect(err).NotTo(HaveOccurred())
	var log sarifLog
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	g.Expect(decoder.Decode(&log)).To(Succeed())
	g.Expect(log.Version).To(Equal("2.1.0"))
	g.Expect(log.Runs).To(HaveLen(1))
	run := log.Runs[0]
	g.Expect(run.Tool.Driver.Rules).To(HaveLen(len(Rules())))
	page, err := os.ReadFile("../../docs/reference/lint-rules.md")
	g.Expect(err).NotTo(HaveOccurred())
	for _, rule := range run.Tool.Driver.Rules {
		g.Expect(rule.HelpURI).To(Equal("https://github.com/stepgate/stepgate/blob/main/docs/reference/lint-rules.md#" +
			rule.ID))
		g.Expect(string(page)).To(ContainSubstring("\n## " + rule.ID + "\n"))
		for _, text := range []string{rule.ID, rule.Help.Text, rule.ShortDescription.Text, rule.FullDescription.Text} {
			g.Expect(text).NotTo(BeEmpty())
		}
		g.Expect(rule.DefaultConfiguration.Level).To(BeElementOf("error", "warning", "note"))
	}
	g.Expect(run.Results).To(HaveLen(len(r.ApplicationSets[0].Findings)))
	for i, result := range run.Results {
		g.Expect(run.Tool.Driver.Rules[result.RuleIndex].ID).To(Equal(result.RuleID))
		g.Expect(result.Level).To(BeElementOf("error", "warning", "note"))
		g.Expect(result.Message.Text).NotTo(BeEmpty())
		physical := result.Locations[0].PhysicalLocation
		g.Expect(physical.ArtifactLocation.URI).To(Equal("appsets/guestbook.yaml"))
		g.Expect(physical.Region.StartLine).To(Equal(r.ApplicationSets[0].Findings[i].Line))
		g.Expect(physical.Region.StartColumn).To(BeNumerically(">", 0))
	}
	g.Expect(run.Invocations[0].ExecutionSuccessful).To(BeFalse(), "a file could not be read")
}

// A live ApplicationSet and standard input have no file; a path from the root is a URI of its own.
func TestSARIFLocations(t *testing.T) {
	g := NewWithT(t)
	g.Expect(physical("", 1, 1)).To(BeNil())
	g.Expect(physical(render.StdinName, 1, 1)).To(BeNil())
	g.Expect(physical("a b/ü.yaml", 0, 0)).To(Equal(&sarifPhysical{ArtifactLocation: sarifArtifact{"a%20b/%C3%BC.yaml"}}))
	g.Expect(physical("/x/a.yaml", 2, 3)).To(Equal(&sarifPhysical{
		ArtifactLocation: sarifArtifact{"file:///x/a.yaml"}, Region: &sarifRegion{2, 3},
	}))
	location := Result{Namespace: "argocd", Name: "guestbook"}.location(Finding{Path: "spec.strategy"})
	g.Expect(location).To(Equal(sarifLocation{LogicalLocations: []sarifLogical{{"argocd/guestbook.spec.strategy"}}}))
}

func TestGitHubEscapes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(command("error", "a,b:c%.yaml", 3, "x: y",
		"100%\r\nnext: a, b")).To(Equal("::error file=a%2Cb%3Ac%25.yaml,line=3,title=x%3A y::100%25%0D%0Anext: a, b"))
	g.Expect(command("notice", render.StdinName, 3, "t", "m")).To(Equal("::notice title=t::m"))
}

// The copy that the printers make shares nothing with the report.
func TestDeepCopy(t *testing.T) {
	g := NewWithT(t)
	r := shown(t, "guestbook.yaml")
	c, ok := r.DeepCopyObject().(*Report)
	g.Expect(ok).To(BeTrue())
	g.Expect(c).To(Equal(r))
	c.ApplicationSets[0].Findings[0].Rule = "other"
	c.ApplicationSets[0].NotChecked[0].Subject = "other"
	g.Expect(r.ApplicationSets[0].Findings[0].Rule).NotTo(Equal("other"))
	g.Expect(r.ApplicationSets[0].NotChecked[0].Subject).NotTo(Equal("other"))
}

func TestFound(t *testing.T) {
	g := NewWithT(t)
	notes := checked(t, edited(t, "maxUpdate: 1", "maxUpdate: 0"))
	g.Expect(notes.Found(Note)).To(BeTrue())
	g.Expect(notes.Found(Warning)).To(BeFalse())
	warnings := checked(t, edited(t, "values: [prod]", "values: [prod, prdo]"))
	g.Expect(warnings.Found(Warning)).To(BeTrue())
	g.Expect(warnings.Found(Error)).To(BeFalse())
	g.Expect(shown(t, "guestbook.yaml").Found(Error)).To(BeTrue())
	g.Expect(checked(t, good).Found(Note)).To(BeFalse())
}
