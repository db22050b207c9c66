package evidence

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

const commit = "78de5d3c1b0a9f8e7d6c5b4a39281706f5e4d3c2"

var runs = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "analysisruns"}

// checkedBy is an entry of an ApplicationSet that selects AnalysisRuns of its namespace.
func checkedBy(uid, template string) settings.Verification {
	return settings.Verification{
		Verification: policy.Verification{Object: "analysisruns.argoproj.io?check=smoke"}, Resource: settings.Templated,
		Namespace: "argocd", Selector: labels.Set{"check": "smoke"}, Template: template, For: uid,
	}
}

// TestCreatedForOne has stepgate create an AnalysisRun for team a, with the labels of whatever team b waits for.
func TestCreatedForOne(t *testing.T) {
	g := NewWithT(t)
	objects := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{runs: "AnalysisRunList"})
	templates := &getter{}
	templates.have(object(g, "{apiVersion: argoproj.io/v1alpha1, kind: AnalysisTemplate, metadata: {namespace: argocd, "+
		"name: always-ok}, spec: {args: [{name: revision}], metrics: []}}"))
	c := NewCreator(runs, templates, objects)
	go c.Run(t.Context())

	teamA := checkedBy("a", "always-ok")
	teamA.Selector = labels.Set{"check": "smoke", RevisionLabel: "of-another", ForLabel: "b"}
	c.Create(&policy.ApplicationSet{Namespace: "argocd", Name: "a", UID: "a"}, teamA, commit)
	elsewhere := checkedBy("a", "always-ok")
	elsewhere.Namespace = "tests"
	c.Create(&policy.ApplicationSet{Namespace: "argocd", Name: "a", UID: "a"}, elsewhere, commit)
	var all []unstructured.Unstructured
	g.Eventually(func() []unstructured.Unstructured {
		list, err := objects.Resource(runs).List(t.Context(), metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		all = list.Items
		return all
	}).Should(HaveLen(1))
	run := &all[0]
	g.Expect(run.GetNamespace()).To(Equal("argocd"))
	g.Expect(run.GetLabels()).To(Equal(map[string]string{"check": "smoke", RevisionLabel: commit, ForLabel: "a"}))
	g.Expect(run.GetOwnerReferences()).To(HaveLen(1))
	g.Expect(c.wanted).To(BeEmpty())

	g.Expect(unstructured.SetNestedField(run.Object, "Successful", "status", "phase")).To(Succeed())
	others := run.DeepCopy()
	others.SetName("ci")
	others.SetLabels(map[string]string{"check": "smoke", RevisionLabel: commit})
	for name, tc := range map[string]struct {
		v    settings.Verification
		o    *unstructured.Unstructured
		want policy.Answer
	}{
		"team a has asked for it":                            {checkedBy("a", "always-ok"), run, policy.Yes},
		"team a names it in another entry":                   {checkedBy("a", ""), run, policy.Yes},
		"team b names it":                                    {checkedBy("b", ""), run, policy.NoAnswer},
		"team b has its own created":                         {checkedBy("b", "always-ok"), run, policy.NoAnswer},
		"what somebody else has created counts for all":      {checkedBy("b", ""), others, policy.Yes},
		"but not where stepgate has it created from its own": {checkedBy("b", "always-ok"), others, policy.NoAnswer},
	} {
		g.Expect(Among(&tc.v, commit, []*unstructured.Unstructured{tc.o}).Answer).To(Equal(tc.want), name)
	}
}
