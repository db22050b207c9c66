// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// One line per decision: at info what an operator may want to act on, at debug the rest.
func TestLogLines(t *testing.T) {
	for name, tc := range map[string]struct {
		row  row
		want string // beginning of the line
	}{
		"a denial":            {row{scenario: blocked}, `"level"=0 "msg"="sync denied"`},
		"a denial, audited":   {row{scenario: blocked, config: audit}, `"level"=0 "msg"="sync would be denied"`},
		"an allow":            {row{scenario: open}, `"level"=1 "msg"="sync admitted"`},
		"the first step":      {row{scenario: "1:prod=Healthy"}, `"level"=1 "msg"="sync admitted"`},
		"mode off":            {row{scenario: blocked, set: annotated(settings.ModeAnnotation, "off")}, `"level"=0 "msg"="sync admitted"`},
		"a malformed mode":    {row{scenario: open, set: annotated(settings.ModeAnnotation, "none")}, `"level"=0 "msg"="sync admitted"`},
		"a bypass":            {row{scenario: blocked, write: func(a *scenario.Attempt) { askBypass("alice")(a); a.User = scenario.ArgoCDServer }}, `"level"=0 "msg"="gate bypassed"`},
		"a bypass in vain":    {row{scenario: open, write: askBypass("alice")}, `"level"=0 "msg"="sync admitted"`},
		"a server dry-run":    {row{scenario: blocked, write: func(a *scenario.Attempt) { a.DryRun = true }}, `"level"=1 "msg"="server dry-run judged"`},
		"a dry-run operation": {row{scenario: blocked, write: func(a *scenario.Attempt) { a.After.Operation.Sync = &argo.SyncOperation{DryRun: true} }}, `"level"=1 "msg"="sync admitted"`},
		"an error":            {row{scenario: blocked, cluster: func(c *scenario.Cluster) { c.FailAt = 1 }}, `"msg"="no decision, answered 503" "error"="` + readFailed + `"`},
		"an error, audited":   {row{scenario: blocked, config: audit, cluster: func(c *scenario.Cluster) { c.FailAt = 2 }}, `"msg"="no decision, admitted in audit mode" "error"="list Applications: etcdserver: request timed out"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var lines []string
			log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 9})
			c, config, write := tc.row.prepare()
			newTrial(config, c).gate.Handle(logr.NewContext(t.Context(), log),
				webhook.AdmissionRequest{AdmissionRequest: scenario.Pinned(write.Request())})
			g.Expect(lines).To(HaveLen(1))
			g.Expect(lines[0]).To(HavePrefix(tc.want))
			g.Expect(strings.Count(lines[0], "\n")).To(BeZero())
		})
	}
}
