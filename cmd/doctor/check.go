// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Result is the outcome of a check.
type Result string

// The results. Unknown is not fine: it means that the check could not be made. Skipped means that there is nothing to
// check.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Problem Result = "problem"
	Unknown Result = "unknown"
	Skipped Result = "skipped"
)

// Results are all results, the worst first.
func Results() []Result { return []Result{Problem, Warning, Unknown, Skipped, OK} }

// Check is one thing that was looked at.
type Check struct {
	// Subject is a release, Argo CD, or the person who asks; Group is a part of it.
	Subject string `json:"subject"`
	Group   string `json:"group,omitempty"`
	Name    string `json:"name"`
	Result  Result `json:"result"`
	// Found is one sentence.
	Found string `json:"found"`
	// Details are what Found counts, one each.
	Details []string `json:"details,omitempty"`
	// Remedy says what to do. Commits are what to commit if Argo CD has installed stepgate. Commands are to be copied.
	Remedy   string   `json:"remedy,omitempty"`
	Commits  []Commit `json:"commits,omitempty"`
	Commands []string `json:"commands,omitempty"`
}

// do adds a remedy.
func (c Check) do(remedy string, commands ...string) Check {
	c.Remedy, c.Commands = remedy, commands
	return c
}

// by adds how the installation is changed.
func (c Check) by(u Upgrade) Check {
	c.Commits, c.Commands = append(c.Commits, u.Commits...), append(c.Commands, u.Commands...)
	return c
}

func found(name string, result Result, format string, args ...any) Check {
	return Check{Name: name, Result: result, Found: fmt.Sprintf(format, args...)}
}

func ok(name, format string, args ...any) Check      { return found(name, OK, format, args...) }
func warning(name, format string, args ...any) Check { return found(name, Warning, format, args...) }
func problem(name, format string, args ...any) Check { return found(name, Problem, format, args...) }
func unknown(name, format string, args ...any) Check { return found(name, Unknown, format, args...) }
func skipped(name, format string, args ...any) Check { return found(name, Skipped, format, args...) }

// lacked is a right as the API server's refusal names it.
var lacked = regexp.MustCompile(
	`cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`,
)

// askForRight is the remedy of every check that lacks a right. The check of the rights has the commands.
const askForRight = "Ask for this right. The other checks do not need it."

// notRead is a check for which something could not be read.
func notRead(name, what string, err error) Check {
	if match := lacked.FindStringSubmatch(err.Error()); match != nil {
		right := Right{Verb: match[1], Resource: match[2], APIGroup: match[3], Namespace: match[4]}
		return unknown(name, "Not checked: you may not %s.", right).do(askForRight)
	}
	return unknown(name, "Not checked: %s cannot be read: %s.", what,
		oneLine(err.Error())).do("Try again; the other checks do not need it.")
}

// oneLine is a text on one line, without the full stop at its end.
func oneLine(text string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}

// in gives checks their subject and their group.
func in(subject, group string, checks ...Check) []Check {
	for i := range checks {
		checks[i].Subject, checks[i].Group = subject, group
	}
	return checks
}

// Report is the answer of the doctor.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// Summary has the number of checks with each result.
	Summary map[Result]int `json:"summary"`
	Checks  []Check        `json:"checks"`
}

// DeepCopyObject implements runtime.Object.
func (r *Report) DeepCopyObject() runtime.Object {
	deep := &Report{TypeMeta: r.TypeMeta, Summary: map[Result]int{}}
	for result, n := range r.Summary {
		deep.Summary[result] = n
	}
	for _, c := range r.Checks {
		c.Commands, c.Details = slices.Clone(c.Commands), slices.Clone(c.Details)
		c.Commits = slices.Clone(c.Commits)
		deep.Checks = append(deep.Checks, c)
	}
	return deep
}

// newReport counts the checks.
func newReport(checks []Check) *Report {
	r := &Report{
		TypeMeta: metav1.TypeMeta{
			APIVersion: "cli.stepgate.io/v1alpha1", Kind: "DoctorReport",
		}, Checks: checks, Summary: map[Result]int{},
	}
	for _, c := range checks {
		r.Summary[c.Result]++
	}
	return r
}

// Found reports whether something is not as it should be.
func (r *Report) Found() bool { return r.Summary[Problem]+r.Summary[Warning] > 0 }
