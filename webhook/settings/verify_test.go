package settings

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/expression"
)

func verifyOf(text string) Settings {
	set := withThreeSteps(map[string]string{VerifyAnnotation: text})
	set.Namespace = "argocd"
	return NewParser(Config{VerifyNamespaces: []string{"tests"}}, atNoon).Of(set)
}

func TestVerifyThatCanBeRead(t *testing.T) {
	of := func(step int, object string, v Verification) Verification {
		v.Verification = policy.Verification{Step: step, Object: object}
		if v.Namespace == "" {
			v.Namespace = "argocd"
		}
		return v
	}
	compiled := &expression.Program{}
	runs, jobs := Templated, schema.GroupResource{Group: "batch", Resource: "jobs"}
	for text, want := range map[string][]Verification{
		"3=analysisruns.argoproj.io/smoke":       {of(2, "analysisruns.argoproj.io/smoke", Verification{Resource: runs, Name: "smoke"})},
		" 1 = jobs.batch/tests/smoke ; ":         {of(0, "jobs.batch/tests/smoke", Verification{Resource: jobs, Namespace: "tests", Name: "smoke"})},
		"2=jobs.batch?suite=smoke,x=y":           {of(1, "jobs.batch?suite=smoke,x=y", Verification{Resource: jobs, Selector: labels.Set{"suite": "smoke", "x": "y"}})},
		"2=jobs.batch/tests?suite=smoke":         {of(1, "jobs.batch/tests?suite=smoke", Verification{Resource: jobs, Namespace: "tests", Selector: labels.Set{"suite": "smoke"}})},
		"2=pods/smoke":                           {of(1, "pods/smoke", Verification{Resource: schema.GroupResource{Resource: "pods"}, Name: "smoke"})},
		"2=jobs.batch/smoke if object.x == 'if'": {of(1, "jobs.batch/smoke", Verification{Resource: jobs, Name: "smoke", If: compiled})},
		"3=analysisruns.argoproj.io?check=smoke create=smoke": {of(2, "analysisruns.argoproj.io?check=smoke", Verification{
			Resource: runs, Selector: labels.Set{"check": "smoke"}, Template: "smoke",
		})},
		"2=pods/a;2=pods/b\n3=pods/a": {
			of(1, "pods/a", Verification{Resource: schema.GroupResource{Resource: "pods"}, Name: "a"}),
			of(1, "pods/b", Verification{Resource: schema.GroupResource{Resource: "pods"}, Name: "b"}),
			of(2, "pods/a", Verification{Resource: schema.GroupResource{Resource: "pods"}, Name: "a"}),
		},
	} {
		s := verifyOf(text)
		NewWithT(t).Expect(s.Problems).To(BeEmpty(), text)
		for i := range s.Verify {
			if s.Verify[i].If != nil {
				s.Verify[i].If = compiled // programs are never equal
			}
		}
		NewWithT(t).Expect(s.Verify).To(Equal(want), text)
		NewWithT(t).Expect(s.Conditions.Verify.Of).To(HaveLen(len(want)), text)
		NewWithT(t).Expect(s.Conditions.Verify.Unreadable).To(BeEmpty(), text)
	}
}

// TestVerifyThatCannotBeRead holds every step, and says what to write.
func TestVerifyThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "it names nothing: write",
		";;\n":                       "it names nothing: write",
		"analysisruns.argoproj.io/x": "has no step: write",
		"x=pods/a":                   `"x" is not a step`,
		"4=pods/a":                   "there is no step 4",
		"2=":                         "names no object",
		"2=pods":                     `"pods" is no object`,
		"2=pods/":                    "is no object",
		"2=pods/a/b/c":               "is no object",
		"2=pods/A":                   "is no object",
		"2=Pods/a":                   "is no object",
		"2=/a":                       "is no object",
		"2=pods?":                    "are no labels",
		"2=pods?a in (b)":            "are no labels",
		"2=pods?a":                   "are no labels",
		"2=pods/kube-system/a":       `namespace "kube-system" may not be named (config.verify.namespaces)`,
		"2=pods/a if ":               "\"if\" is not known",
		"2=pods/a if " + strings.Repeat("x", 1025):  "more than 1024",
		"2=pods/a until=later":                      `"until=later" is not known`,
		"2=pods/a create=smoke":                     "select them by a label",
		"2=analysisruns.argoproj.io/a create=smoke": "select them by a label",
		"2=pods/a;2=pods/a if true":                 "is named twice for step 2",
		strings.Repeat("2=pods/a;", 1) + manyPods(): "it names 21, more than 20",
		"2=pods/a if object.":                       "not valid",
		"2=pods/a if 1":                             "gives int",
		"2=pods/\x00":                               "is no object",
	} {
		s := verifyOf(text)
		NewWithT(t).Expect(s.Conditions.Verify.Unreadable).To(ContainSubstring(want), text)
		NewWithT(t).Expect(s.Conditions.Verify.Has(0)).To(BeTrue(), text)
		NewWithT(t).Expect(s.Verify).To(BeEmpty(), text)
		NewWithT(t).Expect(s.Problems).To(HaveLen(1), text)
	}
}

func manyPods() string {
	var all []string
	for i := range mostVerifications {
		all = append(all, "3=pods/n"+strings.Repeat("x", i))
	}
	return strings.Join(all, ";")
}

// FuzzVerify reads any text without a panic. What cannot be read holds every step.
func FuzzVerify(f *testing.F) {
	for _, seed := range []string{
		"3=analysisruns.argoproj.io/smoke", "2=jobs.batch?a=b if true", "2=a create=b", ";", "=", "\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := verifyOf(text)
		if len(s.Problems) > 0 != s.Conditions.Verify.Has(1) && len(s.Verify) == 0 {
			t.Errorf("%q: %+v", text, s)
		}
	})
}
