// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

func TestAfterThatCanBeRead(t *testing.T) {
	name := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	for text, want := range map[string][]types.NamespacedName{
		"infra":                         {name("argocd", "infra")},
		"\tinfra , platform/base.v2":    {name("argocd", "infra"), name("platform", "base.v2")},
		"argocd/infra":                  {name("argocd", "infra")},
		"infra,argocd/infra,infra,base": {name("argocd", "infra"), name("argocd", "base")},
	} {
		after, problems := afterOf(text)
		NewWithT(t).Expect(after).To(Equal(After{Names: want}), text)
		NewWithT(t).Expect(problems).To(BeEmpty(), text)
	}
}

func afterOf(text string) (After, []Problem) {
	set := &argocd.ApplicationSet{
		ApplicationSet: policy.ApplicationSet{Namespace: "argocd"},
		Annotations:    argocd.ReadAnnotations(map[string]string{AfterAnnotation: text}),
	}
	s := NewParser(Config{AfterNamespaces: []string{"platform"}}, atNoon).Of(set)
	return s.After, s.Problems
}

func TestAfterThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                       `"" is no name: write names such as "infra", or "platform/base" for one in another namespace`,
		"a,,b":                   `"" is no name`,
		"Infra":                  `"Infra" is no name`,
		"a/b/c":                  `"a/b/c" is no name`,
		"/b":                     `"/b" is no name`,
		"kube-system/x":          `namespace "kube-system" may not be named (config.afterNamespaces)`,
		"a\x00":                  `"a\x00" is no name`,
		strings.Repeat("a", 300): `is no name`,
		manyNames():              "it names more than 20",
	} {
		after, problems := afterOf(text)
		NewWithT(t).Expect(after.Names).To(BeEmpty(), text)
		NewWithT(t).Expect(after.Unreadable).To(ContainSubstring(want), text)
		NewWithT(t).Expect(problems).To(HaveLen(1), text)
	}
}

func manyNames() string {
	var all []string
	for i := range 21 {
		all = append(all, "n"+strings.Repeat("x", i))
	}
	return strings.Join(all, ",")
}

func TestTrack(t *testing.T) {
	for text, want := range map[string]string{
		"app": "app", " example.com/app ": "example.com/app", "": "", "a b": "", "app,env": "",
	} {
		s := NewParser(Config{}, atNoon).Of(withThreeSteps(map[string]string{TrackAnnotation: text}))
		NewWithT(t).Expect(s.Track).To(Equal(want), text)
		NewWithT(t).Expect(s.Problems).To(HaveLen(map[bool]int{true: 1}[want == ""]), text)
	}
}
