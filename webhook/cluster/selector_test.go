// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stepgate/stepgate/policy"
)

func TestSelectorFor(t *testing.T) {
	in := func(key string, values ...string) policy.Expression {
		return policy.Expression{Key: key, Operator: "In", Values: values}
	}
	notIn := func(key string, values ...string) policy.Expression {
		return policy.Expression{Key: key, Operator: "NotIn", Values: values}
	}
	for name, tc := range map[string]struct {
		steps []policy.Step
		want  string // "" where it cannot be said
	}{
		"one step, one value":                      {[]policy.Step{{in("env", "dev")}}, "env in (dev)"},
		"one step, ANDed expressions":              {[]policy.Step{{in("env", "dev"), notIn("zone", "x")}}, "env in (dev),zone notin (x)"},
		"two steps of one key":                     {[]policy.Step{{in("env", "dev")}, {in("env", "qa", "uat")}}, "env in (dev,qa,uat)"},
		"two steps of different keys":              {[]policy.Step{{in("env", "dev")}, {in("zone", "x")}}, ""},
		"two steps, one with two expressions":      {[]policy.Step{{in("env", "dev")}, {in("env", "qa"), in("zone", "x")}}, ""},
		"two steps, one with NotIn":                {[]policy.Step{{in("env", "dev")}, {notIn("env", "prod")}}, ""},
		"no expressions select all":                {[]policy.Step{{in("env", "dev")}, {}}, ""},
		"In without values selects nothing":        {[]policy.Step{{in("env")}}, ""},
		"NotIn without values selects all":         {[]policy.Step{{in("env", "dev"), notIn("zone")}}, "env in (dev)"},
		"an unknown operator wants the key absent": {[]policy.Step{{{Key: "zone", Operator: "Exists"}}}, "!zone"},
		"a value that is no label":                 {[]policy.Step{{in("env", "not a label")}}, ""},
		"a key that is no label":                   {[]policy.Step{{in("not a key", "x")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			selector, ok := selectorFor(tc.steps)
			g.Expect(ok).To(Equal(tc.want != ""))
			if ok {
				g.Expect(selector.String()).To(Equal(tc.want))
			}
		})
	}
}

// TestSelectorsSayExactlyWhatTheStepsSay compares, over the text that goes over the wire, with the rule's own meaning.
func TestSelectorsSayExactlyWhatTheStepsSay(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(20261121, 3))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	said, matched := 0, 0
	for range 20_000 {
		var steps []policy.Step
		for range 1 + random.IntN(3) {
			var step policy.Step
			for range pick("1", "1", "1", "22") {
				e := policy.Expression{
					Key: pick("env", "env", "zone"), Operator: pick("In", "In", "In", "NotIn", "Exists", "in", ""),
				}
				for range random.IntN(3) {
					e.Values = append(e.Values, pick("dev", "qa", "prod"))
				}
				step = append(step, e)
			}
			steps = append(steps, step)
		}
		selector, ok := selectorFor(steps)
		if !ok {
			continue
		}
		said++
		parsed, err := labels.Parse(selector.String())
		g.Expect(err).NotTo(HaveOccurred())
		for _, env := range []string{"", "dev", "qa", "prod", "other"} {
			for _, zone := range []string{"", "dev", "qa", "prod", "other"} {
				l := labels.Set{}
				if env != "" {
					l["env"] = env
				}
				if zone != "" {
					l["zone"] = zone
				}
				selects := policy.StepOf(steps, l) >= 0
				g.Expect(parsed.Matches(l)).To(Equal(selects), "%s on %v, for %v", selector, l, steps)
				if selects {
					matched++
				}
			}
		}
	}
	g.Expect(said).To(BeNumerically(">", 5000))
	g.Expect(matched).To(BeNumerically(">", 5000))
}
