// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"
	"time"

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
	c.Create(&policy.ApplicationSet{Namespace: "argocd", Name: "a", UID: "a"}, teamA, commit, time.Time{})
	elsewhere := checkedBy("a", "always-ok")
	elsewhere.Namespace = "tests"
	c.Create(&policy.ApplicationSet{Namespace: "argocd", Name: "a", UID: "a"}, elsewhere, commit, time.Time{})
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

// TestCreatedAgain has the parameters change at the same commit. The getter shows what was created, as made in the second
// that is its number.
func TestCreatedAgain(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	second := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Second) }
	const template = "{apiVersion: argoproj.io/v1alpha1, kind: AnalysisTemplate, metadata: {namespace: argocd, " +
		"name: smoke}}"
	set := &policy.ApplicationSet{Namespace: "argocd", Name: "a", UID: "a"}
	named := func(number int) string {
		return (&run{set: set, v: checkedBy("a", "smoke"), what: commit, number: number}).name()
	}
	first := named(0)
	for name, tc := range map[string]struct {
		made  []int // the seconds in which there was one made
		after []time.Time
		want  []string
		fails bool
	}{
		"there is none":                    {after: []time.Time{{}}, want: []string{first}},
		"there is one":                     {made: []int{1}, after: []time.Time{{}}},
		"it is younger than the spec":      {made: []int{3}, after: []time.Time{second(2)}},
		"it is as old as the spec":         {made: []int{2}, after: []time.Time{second(2)}, want: []string{first + "-2"}},
		"the spec has changed twice":       {made: []int{1, 3}, after: []time.Time{second(4)}, want: []string{first + "-3"}},
		"the second one is younger":        {made: []int{1, 5}, after: []time.Time{second(4)}},
		"two Applications of the step ask": {made: []int{1}, after: []time.Time{second(3), second(2), second(3)}, want: []string{first + "-2"}},
		"it is asked for twice":            {after: []time.Time{{}, {}}, want: []string{first}},
		"there are as many as are read":    {made: []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, after: []time.Time{second(4)}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			reads := &getter{}
			all := []*unstructured.Unstructured{object(g, template)}
			for i, at := range tc.made {
				o := &unstructured.Unstructured{}
				o.SetNamespace("argocd")
				o.SetName(named(i))
				o.SetCreationTimestamp(metav1.NewTime(second(at)))
				all = append(all, o)
			}
			reads.have(all...)
			objects := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{runs: "AnalysisRunList"})
			c := NewCreator(runs, reads, objects)
			for _, after := range tc.after {
				c.Create(set, checkedBy("a", "smoke"), commit, after)
			}
			g.Expect(c.wanted).To(HaveLen(1), "it is created once for all")
			r := <-c.wanted
			other := r
			err := c.create(t.Context(), &r)
			g.Expect(err != nil).To(Equal(tc.fails))
			if err == nil {
				g.Expect(c.create(t.Context(), &other)).To(Succeed(), "another replica has looked at the same moment")
			}
			list, err := objects.Resource(runs).List(t.Context(), metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, o := range list.Items {
				names = append(names, o.GetName())
			}
			g.Expect(names).To(Equal(tc.want))
		})
	}
}
