// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// selector is one selector of an expression. The Type of a matcher is =, !=, =~ or !~.
type selector struct {
	Metric   string
	Matchers []struct{ Name, Type, Value string }
}

// matches reports whether the selector demands exactly this value of a label.
func (s selector) matches(name, value string) bool {
	for _, m := range s.Matchers {
		if m.Name == name && m.Type == "=" && m.Value == value {
			return true
		}
	}
	return false
}

// situation is what Prometheus has scraped once a minute, from minute 0 to Minutes, and the rules that it evaluates.
type situation struct {
	Rules   []rule   `json:"rules"`
	Series  []string `json:"series"`
	Minutes int      `json:"minutes"`
}

// firing is an alert that fires.
type firing struct {
	Alert               string
	Labels, Annotations map[string]string
}

// selectors parses expressions as Prometheus does, and gives the selectors of each.
func selectors(t *testing.T, expressions []string) [][]selector {
	t.Helper()
	var all [][]selector
	ask(t, "selectors", expressions, &all)
	NewWithT(t).Expect(all).To(HaveLen(len(expressions)))
	return all
}

// firings are the alerts that fire in a situation.
func firings(t *testing.T, s situation) []firing {
	t.Helper()
	var all []firing
	ask(t, "alerts", s, &all)
	return all
}

// promql is the program of test/tools/promql. The first call builds it.
func promql() (string, error) {
	program := filepath.Join(shared.Dir(), "promql")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	command := exec.Command("go", "build", "-o", program, ".")
	command.Dir = filepath.Join(shared.Root, "test", "tools", "promql")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", command.Dir, err, text)
	}
	return program, nil
}

// ask puts a question to test/tools/promql.
func ask(t *testing.T, kind string, question, answer any) {
	t.Helper()
	g := NewWithT(t)
	program, err := promql()
	g.Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(question)
	g.Expect(err).NotTo(HaveOccurred())
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), program, kind)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), &stdout, &stderr
	g.Expect(command.Run()).To(Succeed(), stderr.String)
	g.Expect(json.Unmarshal(stdout.Bytes(), answer)).To(Succeed())
}
