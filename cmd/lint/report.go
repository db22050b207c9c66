// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Report is the answer of stepgate lint.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Summary         Summary `json:"summary"`
	// ApplicationSets are those that have steps, or a finding, and the Applications that have one.
	ApplicationSets []Result `json:"applicationSets"`
	// Failures are the inputs that could not be read.
	Failures []Failure `json:"failures,omitempty"`
}

// Summary counts.
type Summary struct {
	Errors          int `json:"errors"`
	Warnings        int `json:"warnings"`
	Notes           int `json:"notes"`
	ApplicationSets int `json:"applicationSets"`
	// WithoutSteps are the ApplicationSets among them that do not roll out in steps.
	WithoutSteps int `json:"withoutSteps"`
	// Applications are those that no ApplicationSet controls, and that come after others or have waves.
	Applications int `json:"applications,omitempty"`
	// OtherObjects are the objects of other kinds, and the Applications of no ApplicationSet that is checked.
	OtherObjects int `json:"otherObjects"`
}

// Result says what was found in one ApplicationSet.
type Result struct {
	// Kind is Application for one that no ApplicationSet controls; empty for an ApplicationSet.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// File is empty for a live ApplicationSet. Document is 1-based.
	File     string `json:"file,omitempty"`
	Document int    `json:"document,omitempty"`
	// Steps is the number of steps.
	Steps int `json:"steps"`
	// ByWaves says that it orders by sync waves. Waves lists those that its known Applications have.
	ByWaves bool  `json:"byWaves,omitempty"`
	Waves   []int `json:"waves,omitempty"`
	// Applications is the number of Applications that were looked at. AllApplications says that there are no others.
	Applications    int       `json:"applications"`
	AllApplications bool      `json:"allApplications"`
	Findings        []Finding `json:"findings"`
	// NotChecked says what could not be checked, and why.
	NotChecked []Gap `json:"notChecked,omitempty"`
}

// Finding is something in an ApplicationSet that somebody should look at.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Path is the part of the object. Line and Column are 1-based, and 0 when they are not known.
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Message is one sentence, and Remedy says what to do.
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Gap is something that could not be checked.
type Gap struct {
	// Subject is a short name for it, as in the last line of the text.
	Subject string `json:"subject"`
	Message string `json:"message"`
}

// NewReport sums up results.
func NewReport(results []Result, failures []Failure, otherObjects int) *Report {
	r := &Report{
		TypeMeta: metav1.TypeMeta{APIVersion: "cli.stepgate.io/v1alpha1", Kind: "LintReport"},
		Summary: Summary{
			OtherObjects: otherObjects,
		}, Failures: failures, ApplicationSets: []Result{},
	}
	for _, result := range results {
		switch {
		case result.Kind != "":
			r.Summary.Applications++
		case result.Steps == 0 && !result.ByWaves:
			r.Summary.WithoutSteps++
			fallthrough
		default:
			r.Summary.ApplicationSets++
		}
		if result.Steps > 0 || result.ByWaves || len(result.Findings) > 0 {
			r.ApplicationSets = append(r.ApplicationSets, result)
		}
		for _, f := range result.Findings {
			switch f.Severity {
			case Error:
				r.Summary.Errors++
			case Warning:
				r.Summary.Warnings++
			case Note:
				r.Summary.Notes++
			}
		}
	}
	return r
}

// Found reports whether there is a finding of at least this severity.
func (r *Report) Found(least Severity) bool {
	return slices.ContainsFunc(r.ApplicationSets, func(result Result) bool {
		return slices.ContainsFunc(result.Findings, func(f Finding) bool { return f.Severity >= least })
	})
}

// DeepCopyObject makes it an object that the printers of kubectl print.
func (r *Report) DeepCopyObject() runtime.Object {
	c := *r
	c.Failures = slices.Clone(r.Failures)
	c.ApplicationSets = slices.Clone(r.ApplicationSets)
	for i := range c.ApplicationSets {
		c.ApplicationSets[i].Findings = slices.Clone(r.ApplicationSets[i].Findings)
		c.ApplicationSets[i].NotChecked = slices.Clone(r.ApplicationSets[i].NotChecked)
	}
	return &c
}

// title is the ApplicationSet or Application as messages name it.
func (r Result) title() string {
	return cmp.Or(r.Kind, "ApplicationSet") + " " + short(strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
}
