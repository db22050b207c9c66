// SPDX-License-Identifier: Apache-2.0

// Command promql tells the tests of the chart about its alerts, by Prometheus' own parser and engine. It reads a
// question as JSON on its standard input, and writes the answer as JSON.
//
//	promql selectors   a list of expressions; answers with the metrics and matchers that each of them selects by
//	promql alerts      a situation; answers with the alerts that fire in it
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: promql selectors|alerts")
	}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	switch args[0] {
	case "selectors":
		var expressions []string
		if err := decoder.Decode(&expressions); err != nil {
			return err
		}
		return answer(out, expressions, selectorsOf)
	case "alerts":
		var s situation
		if err := decoder.Decode(&s); err != nil {
			return err
		}
		return answer(out, s, situation.firing)
	}
	return fmt.Errorf("%s: there is no such question", args[0])
}

// answer writes the answer to a question.
func answer[Q, A any](out io.Writer, question Q, answerTo func(Q) (A, error)) error {
	a, err := answerTo(question)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

// selector is one selector of an expression.
type selector struct {
	Metric   string
	Matchers []matcher
}

// matcher is one matcher of a selector. Type is =, !=, =~ or !~.
type matcher struct{ Name, Type, Value string }

// selectorsOf gives the selectors of each expression.
func selectorsOf(expressions []string) ([][]selector, error) {
	all := [][]selector{}
	for _, text := range expressions {
		expression, err := language.ParseExpr(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		selectors := []selector{}
		for _, matchers := range parser.ExtractSelectors(expression) {
			s := selector{Matchers: []matcher{}}
			for _, m := range matchers {
				if m.Name == labels.MetricName && m.Type == labels.MatchEqual {
					s.Metric = m.Value
				} else {
					s.Matchers = append(s.Matchers, matcher{m.Name, m.Type.String(), m.Value})
				}
			}
			selectors = append(selectors, s)
		}
		all = append(all, selectors)
	}
	return all, nil
}
