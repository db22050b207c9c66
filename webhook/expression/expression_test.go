// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/policy"
)

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

func notYet(why string) policy.Finding { return policy.Finding{Detail: "not yet (" + why + ")"} }

func TestExpressionsSay(t *testing.T) {
	g := NewWithT(t)
	c, o := NewCompiler(AnyKind), map[string]any{}
	const object = "status: {succeeded: 1, share: 0.5, phase: Good, secret: hunter2, nodes: [{ports: [1]}, " +
		"{ports: [2]}], " +
		"at: '2026-01-01T00:00:00Z', conditions: [{type: Complete, status: 'True'}]}"
	text, err := yaml.YAMLToJSON([]byte(object))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(utiljson.Unmarshal(text, &o)).To(Succeed(), "numbers are as of an object that was read")
	yes, no := policy.Finding{Answer: policy.Yes, Detail: "yes"}, policy.Finding{Answer: policy.No, Detail: "no"}
	for text, want := range map[string]policy.Finding{
		"object.status.succeeded > 0":                    yes,
		"object.status.succeeded > 1":                    {Detail: "not yet"},
		"object.status.phase == 'Good' ? 'yes' : 'no'":   yes,
		"object.status.phase != 'Good' ? 'yes' : 'no'":   no,
		"object.status.phase != 'Good' ? 'yes' : 'wait'": {Detail: "not yet"},
		"object.status.secret":                           {Detail: "not yet"},
		"object.status":                                  notYet("its expression gives no bool and no text"),
		"object.status.failed > 0":                       notYet("its expression gives no answer"),
		"object[object.status.secret] == 1":              notYet("its expression gives no answer"),
		"int(object.status.secret) == 1":                 notYet("its expression gives no answer"),
		"has(object.status.failed) ? 'no' : 'yes'":       yes,
		"object.status.conditions.exists(c, c.type == 'Complete' && c.status == 'True')":                        yes,
		"object.status.nodes.all(n, n.ports.exists(p, p > 0))":                                                  yes,
		"object.status.nodes.all(n, n['ports'].exists(p, p > 1))":                                               {Detail: "not yet"},
		"object.status.succeeded + 1 == 2 && 1.5 + object.status.share > 1":                                     yes,
		"object.status.phase + object.status.phase == object.status.phase":                                      notYet("its expression gives no answer"),
		"object.status.nodes + object.status.nodes == object.status.nodes":                                      notYet("its expression gives no answer"),
		"object.status == object.status && object.status.phase != object.status.nodes && !(1 in object.status)": yes,
		"object.status.phase in ['Good', 'Better'] && object.status.phase.startsWith('G')":                      yes,
		"size(object.status.phase) == 4 && object.status.phase.contains('oo')":                                  yes,
		"timestamp(object.status.at) - duration('1h') < timestamp(object.status.at)":                            yes,
		"object.status.nodes.all(n, object == object)":                                                          yes,
	} {
		for range 2 { // the second time it is compiled already
			program, err := c.Compile(jobs, text)
			g.Expect(err).NotTo(HaveOccurred(), text)
			g.Expect(program.Says(o)).To(Equal(want), text)
		}
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	c := NewCompiler(AnyKind)
	for text, want := range map[string]string{
		"1":                             `its expression gives int, not a bool or one of "yes", "no" and "wait"`,
		"nothing":                       "its expression is not valid: undeclared reference to 'nothing' at character 1",
		"object.":                       "its expression is not valid: Syntax error: no viable alternative at input '.' at character 8",
		"object.?a":                     "its expression is not valid: unsupported syntax '.?' at character 7",
		strings.Repeat("x", Longest+1):  "its expression has 1025 bytes, more than 1024",
		strings.Repeat("(", mostDeep+1): "recursion",
		"true" + strings.Repeat("&&object.a.all(a,a)", 49):   "expression count exceeds limit of 256",
		"object.a.replace('a', 'aa') == 'b'":                 "undeclared reference to 'replace'",
		"object.a.join(',') == 'b'":                          "undeclared reference to 'join'",
		"'%s'.format([1]) == 'b'":                            "undeclared reference to 'format'",
		"object.a.matches('a')":                              "undeclared reference to 'matches'",
		"timestamp(object.a).getHours('Europe/Berlin') == 1": "undeclared reference to 'getHours'",
		"object.a.map(a, [a, a]) == []":                      "a list may have constants only",
		"optional.of(object).optMap(a, a).hasValue()":        "undeclared reference",
		"'a' + 'b' == 'ab'":                                  "no matching overload for '_+_'",
		"[object, object] == [object]":                       "a list may have constants only",
		"{'a': object} == object":                            "it cannot make maps or messages",
		"google.protobuf.Any{} == object":                    "it cannot make maps or messages",
		"object.a.all(a, object.b.exists(b, true))":          "a loop within a loop has to go over a part of the outer one's variable",
		"object.a.all(a, a.all(b, a.all(c, true)))":          "a loop within a loop",
		"object.a.all(a, object[a].all(b, true))":            "a loop within a loop",
		"object.a.all(a, a[a.b].all(b, true))":               "a loop within a loop",
		"object.a.all(a, a.all(b, b.all(c, c)))":             "its expression is too dear: it may cost",
	} {
		for range 2 { // the failure is kept
			_, err := c.Compile(jobs, text)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)), text)
			NewWithT(t).Expect(len(err.Error())).To(BeNumerically("<", 2*Longest), text)
		}
	}
}

// TestNobodyCompilesWhatNobodyReads has an expression that is not valid pass, and say nothing.
func TestNobodyCompilesWhatNobodyReads(t *testing.T) {
	g := NewWithT(t)
	runs := schema.GroupResource{Group: "argoproj.io", Resource: "analysisruns"}
	readsRuns := NewCompiler(func(kind schema.GroupResource) bool { return kind == runs })
	for name, c := range map[string]*Compiler{"nil": nil, "the zero value": {}, "another kind": readsRuns} {
		for _, text := range []string{"not valid", "true"} {
			program, err := c.Compile(jobs, text)
			g.Expect(err).NotTo(HaveOccurred(), name)
			g.Expect(program.Says(nil)).To(Equal(notYet("its expression is not compiled")), name)
		}
		_, err := c.Compile(jobs, strings.Repeat("x", Longest+1))
		g.Expect(err).To(HaveOccurred(), name)
	}
	_, err := readsRuns.Compile(runs, "not valid")
	g.Expect(err).To(HaveOccurred())
}

// TestOneCompilesForAll has many ask at once, and again.
func TestOneCompilesForAll(t *testing.T) {
	g := NewWithT(t)
	var looks, compiles atomic.Int64
	c := NewCompiler(func(schema.GroupResource) bool { looks.Add(1); return true })
	c.compile = func(text string) (*Program, error) {
		for compiles.Add(1); looks.Load() < 20; { // it waits until all have asked
		}
		return compile(text)
	}
	var all sync.WaitGroup
	programs := make([]*Program, 20)
	for i := range programs {
		all.Go(func() { programs[i], _ = c.Compile(jobs, "object.a == 1") })
	}
	all.Wait()
	for _, p := range programs {
		g.Expect(p).NotTo(BeNil())
		g.Expect(p).To(BeIdenticalTo(programs[0]))
	}
	g.Expect(compiles.Load()).To(BeNumerically("==", 1))
	for range 3 {
		_, err := c.Compile(jobs, "not valid")
		g.Expect(err).To(HaveOccurred())
	}
	g.Expect(compiles.Load()).To(BeNumerically("==", 2), "failures are kept as well")
	for i := range mostPrograms + 10 {
		_, err := c.Compile(jobs, fmt.Sprint("object.a == ", i))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(c.kept.Keys()).To(HaveLen(mostPrograms))
}
