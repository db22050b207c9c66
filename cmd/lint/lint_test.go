// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/cmd/render"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestMain silences the log of Argo CD's generators.
func TestMain(m *testing.M) {
	render.Silence()
	os.Exit(m.Run())
}

// good is an ApplicationSet without a mistake.
const good = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: guestbook
  namespace: argocd
  annotations:
    stepgate.io/require: health
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
    - list:
        elements:
          - {env: dev, cluster: dev}
          - {env: prod, cluster: prod-eu}
          - {env: prod, cluster: prod-us}
  strategy:
    type: RollingSync
    rollingSync:
      steps:
        - matchExpressions:
            - {key: env, operator: In, values: [dev]}
        - matchExpressions:
            - {key: env, operator: In, values: [prod]}
          maxUpdate: 1
  template:
    metadata:
      name: guestbook-{{.cluster}}
      labels: {env: "{{.env}}"}
    spec:
      project: default
      source: {repoURL: https://example.com/guestbook.git, path: base, targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: guestbook}
      syncPolicy: {syncOptions: [CreateNamespace=true]}
`

// edited is good with texts replaced. Every text has to be there.
func edited(t *testing.T, edits ...string) string {
	t.Helper()
	text := good
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("%q is not in the ApplicationSet", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text
}

// checked checks one file, as of now.
func checked(t *testing.T, text string) *Report {
	t.Helper()
	var in Input
	in.Text("guestbook.yaml", []byte(text))
	in.Link()
	return in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true})
}

// findings are those of the only ApplicationSet, in lines.
func findings(t *testing.T, r *Report) []string {
	t.Helper()
	NewWithT(t).Expect(r.Failures).To(BeEmpty())
	lines := []string{}
	for _, result := range r.ApplicationSets {
		for _, f := range result.Findings {
			lines = append(lines, fmt.Sprintf("%s %d %s: %s", f.Rule, f.Line, f.Path, f.Message))
		}
	}
	return lines
}
