// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/policy"
)

func TestSectionOfACommand(t *testing.T) {
	NewWithT(t).Expect(commandSection(command.Reference{
		Path: "stepgate get", Use: "stepgate get [flags]", Long: "Show <it>\nnow.\n\n  kubectl get a_b\n\n--x {{y}}",
		Example: "  stepgate get",
		Flags: []command.FlagReference{
			{Name: "all", Shorthand: "A", Usage: "a|b, under_score"}, {Name: "n", Type: "int", Default: "3", Usage: "how many"},
			{Name: "as"}, {Name: "x"}, {Name: "context"},
		},
	}, map[command.FlagReference]string{{Name: "as"}: "most", {Name: "x"}: "`a`", {Name: "context"}: "most"})).To(Equal(`
### stepgate get

Show &lt;it&gt; now.

` + "```text\n  kubectl get a_b\n```" + `

--x &#123;&#123;y}}

` + "```text\nstepgate get [flags]\n\n  stepgate get\n```" + `

| flag | default | meaning |
|---|---|---|
| ` + "`-A, --all`" + ` |  | a\|b, under\_score |
| ` + "`--n int` | `3`" + ` | how many |

Also, as in most: ` + "`--as`, `--context`" + `.

Also, as in ` + "`a`: `--x`" + `.
`))
}

func TestCatalogue(t *testing.T) {
	g := NewWithT(t)
	var c catalogue
	options := prometheus.Opts{Name: "n", Help: `a "help"`, ConstLabels: prometheus.Labels{"k": "v"}}
	c.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts(options), []string{"x", "y"}),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "h", Help: "help"}, nil),
		prometheus.NewGauge(prometheus.GaugeOpts{Name: "g", Help: "help"}),
		prometheus.NewCounter(prometheus.CounterOpts{Name: "c", Help: "help"}))
	g.Expect(c.err).NotTo(HaveOccurred())
	g.Expect(c.rows).To(Equal([][]string{
		{"`n`", "counter", "`k`, `x`, `y`", `a "help"`}, {"`h`", "histogram", "", "help"}, {"`g`", "gauge", "", "help"},
		{"`c`", "counter", "", "help"},
	}))
}

// Every reason that denies says what to do next, but the one that needs nothing.
func TestNext(t *testing.T) {
	g := NewWithT(t)
	g.Expect(next(policy.Paused)).To(HavePrefix("stepgate resume APPSET -n NAMESPACE --step 2"))
	g.Expect(next(policy.OperationFailed)).To(Equal("sync APP again: argocd app sync APP"))
	writes, _ := policy.WriteRows()
	for _, r := range append(writes, policy.SiblingRows()...) {
		if r.Outcome == policy.Deny && r.Reason != policy.AlreadySynced {
			g.Expect(next(r.Reason)).NotTo(BeEmpty(), string(r.Reason))
		}
	}
}
