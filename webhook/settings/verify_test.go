// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/expression"
)

func verifyOf(text string) Settings {
	return verifiedBy(expression.NewCompiler(expression.AnyKind), text)
}

func verifiedBy(compiler *expression.Compiler, text string) Settings {
	set := withThreeSteps(map[string]string{VerifyAnnotation: text})
	set.Namespace, set.UID = "argocd", "uid"
	return NewParser(Config{VerifyNamespaces: []string{"tests"}, Expressions: compiler}, atNoon).Of(set)
}

func TestVerifyThatCanBeRead(t *testing.T) {
	of := func(step int, object string, v Verification) Verification {
		v.Verification, v.For = policy.Verification{Step: step, Object: object}, "uid"
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
		"2=pods/a if " + strings.Repeat("x", 1025):          "more than 1024",
		"2=pods/a until=later":                              `"until=later" is not known`,
		"2=pods/a create=smoke":                             "select them by a label",
		"2=analysisruns.argoproj.io/a create=smoke":         "select them by a label",
		"2=pods/a;2=pods/a if true":                         "is named twice for step 2",
		strings.Repeat("2=pods/a;", 1) + manyPods():         "it names more than 20",
		"2=analysisruns.argoproj.io/tests?a=b create=smoke": "create=smoke needs an AnalysisTemplate in the ApplicationSet's own namespace",
		"2=pods/a if object.":                               "not valid",
		"2=pods/a if 1":                                     "gives int",
		"2=pods/\x00":                                       "is no object",
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

// TestVerifyCompilesNothingBeforeItHasReadAll has annotations that are too long, or about kinds that nobody reads.
func TestVerifyCompilesNothingBeforeItHasReadAll(t *testing.T) {
	g := NewWithT(t)
	looks := 0
	compiler := expression.NewCompiler(func(schema.GroupResource) bool { looks++; return true })
	s := verifiedBy(compiler, strings.ReplaceAll(manyPods(), ";", " if true;")+";3=pods/a if true;3=pods/b if true")
	g.Expect(s.Conditions.Verify.Unreadable).To(Equal("it names more than 20"))
	g.Expect(looks).To(BeZero())
	s = verifiedBy(compiler, "3=pods/a if true;3=pods/")
	g.Expect(s.Conditions.Verify.Unreadable).To(ContainSubstring("is no object"))
	g.Expect(looks).To(BeZero())

	ofNone := expression.NewCompiler(func(schema.GroupResource) bool { return false })
	for _, compiler := range []*expression.Compiler{nil, ofNone} {
		s = verifiedBy(compiler, "3=pods/a if not valid")
		g.Expect(s.Conditions.Verify.Unreadable).To(BeEmpty())
		g.Expect(s.Conditions.Verify.Has(2)).To(BeTrue())
		g.Expect(s.Verify[0].If.Says(nil).Answer).To(Equal(policy.NoAnswer), "it is not the health that counts then")
	}
}

// FuzzVerify reads any text of the size that gets through without a panic, and in little time. What cannot be read holds
// every step.
func FuzzVerify(f *testing.F) {
	for _, seed := range []string{
		"3=analysisruns.argoproj.io/smoke", "2=jobs.batch?a=b if true", "2=a create=b", ";", "=", "\x00", manyPods(),
		strings.Repeat("2=a?a=b,", 1000), strings.Repeat("2=a/b if object.a.all(a, a) ;", 20),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 8<<10)]
		start := time.Now()
		s := verifyOf(text)
		if took := time.Since(start); took > mostVerifications*100*time.Millisecond {
			t.Errorf("%q took %s", text, took)
		}
		if len(s.Verify) > mostVerifications {
			t.Errorf("%q: %d entries", text, len(s.Verify))
		}
		if len(s.Problems) > 0 != s.Conditions.Verify.Has(1) && len(s.Verify) == 0 {
			t.Errorf("%q: %+v", text, s)
		}
	})
}
