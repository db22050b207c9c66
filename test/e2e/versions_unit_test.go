// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"io"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/report"
)

func TestVersionsOfTheFlag(t *testing.T) {
	g := NewWithT(t)
	g.Expect(options{argocd: "v3.2.12,v3.5.7"}.versions()).To(Equal([]string{"v3.2.12", "v3.5.7"}))
	_, err := options{argocd: "v3.5.7,v1.0.0"}.versions()
	g.Expect(err).To(MatchError(ContainSubstring(`"v1.0.0" is not one of v3.5.7, `)))
}

func TestVersionsInTurn(t *testing.T) {
	broken := errors.New("1 starts out of order with the gate")
	for name, tc := range map[string]struct {
		problems map[string]error
		played   []string
		want     string
	}{
		"all are well":               {nil, []string{"a", "b", "c"}, ""},
		"one fails, and the rest go": {map[string]error{"b": broken}, []string{"a", "b", "c"}, "with Argo CD b: 1 starts out of order with the gate"},
		"somebody interrupts":        {map[string]error{"a": context.Canceled}, []string{"a"}, "with Argo CD a: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var played []string
			err := inTurn(report.To(io.Discard), []string{"a", "b", "c"}, func(version string) (string, error) {
				played = append(played, version)
				return "e2e: argocd=" + version, tc.problems[version]
			})
			g.Expect(played).To(Equal(tc.played))
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.want))
		})
	}
}
