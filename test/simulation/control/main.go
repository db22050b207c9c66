// SPDX-License-Identifier: Apache-2.0

// Command control takes parts of the rule out, one at a time, and checks that the simulation notices:
//
//	go run ./test/simulation/control
//	go run ./test/simulation/control -parts A5,NotSynced
//
// A part is a piece of text in one file, replaced by another through `go build -overlay`: nothing in the checkout
// changes, and no switch is needed in the rule. A part whose text is not there any more is an error.
//
// The scenarios of testdata are played first. A line "without A5 early A5" in one of them says which kind of violation
// it shows without the part A5. Without a part that no scenario has a line for, any violation in any scenario will do,
// or else one in random histories, or else a unit test that fails.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/test/report"
)

func main() {
	only := flag.String("parts", "", "the parts to take out, separated by commas; empty takes all")
	histories := flag.Int("n", 20000,
		"how many random histories to play, at most, for a part that no scenario has a line for")
	results := report.Flag(flag.CommandLine)
	flag.Parse()
	page, err := results.Page(report.Suite{
		Name: "simulation-control", Title: "parts of the rule are taken out, one at a time: does the simulation notice?",
	})
	if err == nil {
		err = run(*only, *histories, page.Printer)
		err = errors.Join(err, page.Close(err))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "control:", err)
		os.Exit(1)
	}
}

func run(only string, histories int, out *report.Printer) error {
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	kept, err := filepath.Glob("cmd/simulation/testdata/*.txt")
	if err != nil {
		return err
	}
	c := control{dir: dir, kept: kept, histories: histories}
	wanted, err := named(only)
	if err != nil {
		return err
	}
	var missed []string
	for _, p := range wanted {
		noticed, err := c.without(p)
		if noticed == "" || err != nil {
			missed = append(missed, p.name)
		}
		if err != nil {
			noticed = err.Error()
		}
		out.Line("without %-26s %s", p.name, cmp.Or(noticed, "nothing is noticed"))
	}
	if len(missed) > 0 {
		return fmt.Errorf("nothing notices that these parts are taken out: %s", strings.Join(missed, ", "))
	}
	return nil
}

// named are the parts with these names, or all.
func named(only string) ([]part, error) {
	if only == "" {
		return parts(), nil
	}
	var found []part
	for _, name := range strings.Split(only, ",") {
		i := slices.IndexFunc(parts(), func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no part %q: see parts.go", name)
		}
		found = append(found, parts()[i])
	}
	return found, nil
}

type control struct {
	dir       string
	kept      []string
	histories int
}

// without takes a part out, and returns how that was noticed; empty when it was not.
func (c *control) without(p part) (noticed string, err error) {
	overlay, err := p.overlay(c.dir)
	if err != nil {
		return "", err
	}
	if p.of == ofProof {
		return c.inProof(overlay)
	}
	program, err := build(c.dir, overlay)
	if err != nil {
		return "", err
	}
	noticed, err = c.inScenarios(program, p.name)
	if noticed == "" && err == nil {
		noticed, err = c.inHistories(program, p.of)
	}
	if noticed == "" && err == nil {
		noticed = inTests(overlay)
	}
	return noticed, err
}

// inTests runs the unit tests of the rule, and returns the first that fails. A part whose place another part takes in
// all histories is only noticed there.
func inTests(overlay string) string {
	out, _ := exec.Command("go", "test", "-overlay", overlay, "./policy", "./webhook/...").Output()
	if found := failed.FindSubmatch(out); found != nil {
		return fmt.Sprintf("%s, and no history", found[1])
	}
	return ""
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// inScenarios plays the scenarios. One that has a line for the part has to show what the line says. Where none has, any
// violation in one of them will do.
func (c *control) inScenarios(program, name string) (string, error) {
	var expected, found []string
	for _, file := range c.kept {
		s, err := simulation.Read(file)
		if err != nil {
			return "", err
		}
		// The exit status only says that there is a violation. Each has a line "# EARLY ... [kind ...", "# STUCK", "#
		// LATE" or "# STRANDED".
		out, _ := exec.Command(program, "-scenario", file).Output()
		var kinds []string
		for _, match := range violation.FindAllSubmatch(out, -1) {
			kinds = append(kinds, fmt.Sprintf("%s %s in %s", strings.ToLower(string(match[1])), match[2], filepath.Base(file)))
		}
		for _, kind := range kinds {
			// Some scenarios strand with the whole rule, too, or show what is not repaired.
			if !strings.HasPrefix(kind, "stranded ") && kind != fmt.Sprintf("%s in %s", s.Expect, filepath.Base(file)) {
				found = append(found, kind)
			}
		}
		if kind := s.Without[name]; kind != "" {
			shown := fmt.Sprintf("%s in %s", kind, filepath.Base(file))
			if !slices.Contains(kinds, shown) {
				return "", fmt.Errorf("%s does not show %q", file, kind)
			}
			expected = append(expected, shown)
		}
	}
	if len(expected) == 0 && len(found) > 0 {
		return found[0], nil
	}
	return strings.Join(expected, ", "), nil
}

var (
	violation = regexp.MustCompile(`(?m)^# (EARLY|STUCK|LATE|STRANDED)\b.*?\[([^];]+)`)
	summary   = regexp.MustCompile(`(?m)^simulate: histories=(\d+) early=(\d+) stuck=(\d+) late=(\d+) `)
	seed      = regexp.MustCompile(`(?m)^((?:early|stuck|late) .*?) +\d+ +(\d+)$`)
)

// inHistories plays random histories up to the first with a violation.
func (c *control) inHistories(program, of string) (string, error) {
	args := []string{"-n", strconv.Itoa(c.histories), "-first", "-show", "0"}
	if of != "" {
		args = append(args, of)
	}
	out, err := exec.Command(program, args...).Output()
	if summary.Find(out) == nil {
		return "", fmt.Errorf("no summary: %w", err)
	}
	found := seed.FindSubmatch(out)
	if found == nil {
		return "", nil
	}
	return fmt.Sprintf("%s in history %s", found[1], found[2]), nil
}
