// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

func object(g *WithT, text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal([]byte(text), &o.Object)).To(Succeed())
	return o
}

// TestHealthSays goes by Argo CD's own checks and scripts.
func TestHealthSays(t *testing.T) {
	yes := policy.Finding{Answer: policy.Yes, Detail: "yes (Healthy)"}
	no := policy.Finding{Answer: policy.No, Detail: "no (Degraded)"}
	const run = "{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {name: smoke}, status: {phase: "
	for text, want := range map[string]policy.Finding{
		run + "Successful}}":               yes,
		run + "Failed, message: p99 > 1}}": no,
		run + "Error}}":                    no,
		run + "Running}}":                  expression.NotYet("Progressing"),
		run + "Inconclusive}}":             expression.NotYet("Unknown"),
		"{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {name: smoke}}":                                                                      expression.NotYet("Progressing"),
		"{apiVersion: batch/v1, kind: Job, metadata: {name: smoke}}":                                                                                          expression.NotYet("Progressing"),
		"{apiVersion: batch/v1, kind: Job, metadata: {name: smoke}, status: {conditions: [{type: Complete, status: 'True'}]}}":                                yes,
		"{apiVersion: batch/v1, kind: Job, metadata: {name: smoke}, status: {conditions: [{type: Failed, status: 'True', message: BackoffLimitExceeded}]}}":   no,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: smoke}}":                                                                                          expression.NotYet(`Argo CD knows no health of this kind: add "if EXPRESSION"`),
		"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: x, generation: 1}, spec: {}, status: {observedGeneration: '1', phase: Degraded}}": no,
	} {
		g := NewWithT(t)
		g.Expect(healthSays(object(g, text))).To(Equal(want), text)
	}
}

// TestFound wants one object at least, and that all say yes.
func TestFound(t *testing.T) {
	g := NewWithT(t)
	program, err := expression.NewCompiler(expression.AnyKind).Compile(schema.GroupResource{}, "object.says")
	g.Expect(err).NotTo(HaveOccurred())
	v := &settings.Verification{Selector: labels.Set{"suite": "smoke"}, If: program}
	one := func(name, says string, extra ...string) *unstructured.Unstructured {
		return object(g, "{metadata: {name: "+name+", labels: {suite: smoke, stepgate.io/revision: abc}"+
			strings.Join(extra, "")+"}, says: "+says+"}")
	}
	other := one("other", "'yes'")
	other.SetLabels(map[string]string{"suite": "smoke", RevisionLabel: "def"})
	unlabelled := one("unlabelled", "'yes'")
	unlabelled.SetLabels(map[string]string{"suite": "smoke", RevisionLabel: ""})
	plain := one("plain", "'yes'")
	plain.SetLabels(map[string]string{RevisionLabel: "abc"})
	for name, tc := range map[string]struct {
		objects []*unstructured.Unstructured
		want    policy.Finding
	}{
		"none":                   {nil, policy.Finding{Detail: "there is none with the label stepgate.io/revision=abc"}},
		"of another revision":    {[]*unstructured.Unstructured{other, plain}, policy.Finding{Detail: "there is none with the label stepgate.io/revision=abc"}},
		"one says yes":           {[]*unstructured.Unstructured{one("a", "'yes'"), other}, policy.Finding{Answer: policy.Yes, Detail: "a says yes"}},
		"one of two says no":     {[]*unstructured.Unstructured{one("b", "'no'"), one("a", "'yes'")}, policy.Finding{Answer: policy.No, Detail: "b says no"}},
		"one of two waits":       {[]*unstructured.Unstructured{one("a", "'yes'"), one("b", "'wait'")}, policy.Finding{Detail: "b says not yet"}},
		"one waits, one says no": {[]*unstructured.Unstructured{one("a", "'wait'"), one("b", "'no'")}, policy.Finding{Answer: policy.No, Detail: "b says no"}},
		"it is being deleted":    {[]*unstructured.Unstructured{one("a", "'yes'", ", deletionTimestamp: '2026-01-01T00:00:00Z'")}, policy.Finding{Detail: "a says not yet (it is being deleted)"}},
		"it says something else": {[]*unstructured.Unstructured{one("a", "a secret")}, policy.Finding{Detail: "a says not yet"}},
		"no status yet":          {[]*unstructured.Unstructured{object(g, "{metadata: {name: a, labels: {suite: smoke, stepgate.io/revision: abc}}}")}, policy.Finding{Detail: "a says not yet (its expression gives no answer)"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := Among(v, "abc", tc.objects)
			found.Each = nil
			NewWithT(t).Expect(found).To(Equal(tc.want))
		})
	}
	dated := Among(v, "abc", []*unstructured.Unstructured{
		one("b", "'yes'", ", creationTimestamp: '2026-01-01T00:00:01Z'"),
		one("a", "'yes'", ", creationTimestamp: '2026-01-01T00:00:00Z'"),
	})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g.Expect(dated.Each).To(HaveExactElements(
		And(HaveField("Detail", "a says yes"), HaveField("At", BeTemporally("==", at))),
		And(HaveField("Detail", "b says yes"), HaveField("At", BeTemporally("==", at.Add(time.Second)))),
	))
	g.Expect(Among(v, "", []*unstructured.Unstructured{unlabelled})).To(Equal(policy.Finding{
		Detail: "no label can stand for what is deployed",
	}))
	created := *v
	created.Template = "smoke"
	g.Expect(Among(&created, "abc", nil).Detail).To(Equal("there is none with the label stepgate.io/revision=abc; " +
		"stepgate makes it (config.verify.create), or logs why not"))
	var many []*unstructured.Unstructured
	for range mostObjects + 1 {
		many = append(many, one("a", "'yes'"))
	}
	g.Expect(Among(v, "abc", many).Detail).To(Equal("more than 10 have the label stepgate.io/revision=abc"))
}

func TestLabelOf(t *testing.T) {
	long := strings.Repeat("a", 64)
	for what, want := range map[string]string{
		"0123456789abcdef0123456789abcdef01234567": "0123456789abcdef0123456789abcdef01234567",
		"1.2.3": "1.2.3", "1.2.3+build.5": "1.2.3_build.5", "sha256:" + long: long[:63], "sources:abc": "abc", "": "", ":": "", "é": "",
	} {
		NewWithT(t).Expect(LabelOf(what)).To(Equal(want), what)
	}
}
