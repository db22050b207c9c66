// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/golden"
)

// concluded is the line of simulate that says what comes of a rollout.
var concluded = regexp.MustCompile(`(?m)^(?:[✔✖] .*|⚠ (?:complete|But) .*)$`)

// TestInputs says for each file of testdata/inputs, which are ApplicationSets as people write them, with their mistakes,
// what lint finds, and what simulate says.
func TestInputs(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob("testdata/inputs/*")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	lines := []string{
		"# What lint and simulate say of the files in inputs", "",
		"| file | `lint`: exit code, and what it finds | `simulate`: exit code, and what comes of it |", "|---|---|---|",
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		linted := runWith(string(text), "lint", "-f", "-", "-o", "json")
		played := runWith(string(text), "simulate", "-f", "-")
		for _, r := range []ran{linted, played} {
			g.Expect(r.out+r.err).NotTo(MatchRegexp(`panic|%!|cannot unmarshal`), file)
			g.Expect(r.code == 2).To(Equal(r.err != ""), "%s: %s", file, r.err)
		}
		lines = append(lines, fmt.Sprintf("| %s | %d %s | %d %s |", filepath.Base(file), linted.code, found(g, linted),
			played.code, cell(strings.Join(concluded.FindAllString(played.out, -1), " ")+" "+played.err)))
	}
	golden.Expect(t, "inputs.md", strings.Join(lines, "\n")+"\n")
}

// found are the rules that lint has found, and the error that it ends with.
func found(g *WithT, r ran) string {
	var report struct {
		ApplicationSets []struct {
			Findings []struct{ Rule string } `json:"findings"`
		} `json:"applicationSets"`
	}
	if r.out != "" {
		g.Expect(json.Unmarshal([]byte(r.out), &report)).To(Succeed(), r.out)
	}
	var rules []string
	for _, set := range report.ApplicationSets {
		for _, f := range set.Findings {
			rules = append(rules, f.Rule)
		}
	}
	return cell(strings.Join(rules, ", ") + " " + r.err)
}

// cell is a text as a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
