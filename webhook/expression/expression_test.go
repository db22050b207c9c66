package expression

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/policy"
)

func TestExpressionsSay(t *testing.T) {
	g := NewWithT(t)
	c, o := NewCompiler(), map[string]any{}
	const object = "status: {succeeded: 1, phase: Good, list: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}"
	g.Expect(yaml.Unmarshal([]byte(object), &o)).To(Succeed())
	const all = "object.status.list.all(NAME, "
	dear := "true"
	for _, name := range strings.Split("abcdefg", "") {
		dear = strings.ReplaceAll(all, "NAME", name) + dear + ")"
	}
	for text, want := range map[string]policy.Finding{
		"object.status.succeeded > 0":                  {Answer: policy.Yes, Detail: "true"},
		"object.status.succeeded > 1":                  {Detail: "false"},
		"object.status.phase == 'Good' ? 'yes' : 'no'": {Answer: policy.Yes, Detail: "yes"},
		"object.status.phase != 'Good' ? 'yes' : 'no'": {Answer: policy.No, Detail: "no"},
		"object.status.phase":                          {Detail: "Good"},
		"object.status.failed > 0":                     {Detail: "its expression gives no answer: no such key: failed"},
		"object.status.?failed.orValue(0) == 0":        {Answer: policy.Yes, Detail: "true"},
		"object.status":                                {Detail: "its expression gives no bool and no text"},
		"object.status.phase.lowerAscii() == 'good'":   {Answer: policy.Yes, Detail: "true"},
		"1":       {Detail: `its expression gives int, not a bool or one of "yes", "no" and "wait"`},
		"nothing": {Detail: "its expression is not valid: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')"},
		"object.": {Detail: "its expression is not valid: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'"},
		dear:      {Detail: "its expression gives no answer: operation cancelled: actual cost limit exceeded"},
	} {
		for range 2 { // the second time it is compiled already
			program, err := c.Compile(text)
			if err != nil {
				g.Expect(err).To(MatchError(want.Detail), text)
				continue
			}
			g.Expect(program.Says(o)).To(Equal(want), text)
		}
	}
}
