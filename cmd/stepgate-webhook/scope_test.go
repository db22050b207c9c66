// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stepgate/stepgate/cmd/flags"
)

func TestNamespacesThatAreNotGated(t *testing.T) {
	g := NewWithT(t)
	scheme := fake.NewTestScheme()
	g.Expect(metav1.AddMetaToScheme(scheme)).To(Succeed())
	var objects []runtime.Object
	for _, name := range []string{"argocd/a", "team-b/b", "team-a/a", "team-b/c"} {
		o := &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: argo.SchemeGroupVersion.String(), Kind: "ApplicationSet"},
		}
		o.Namespace, o.Name, _ = strings.Cut(name, "/")
		objects = append(objects, o)
	}
	client := fake.NewSimpleMetadataClient(scheme, objects...)
	lists := 0
	client.PrependReactor("list", "applicationsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		lists++
		return false, nil, nil
	})

	s := &scope{Namespaces: flags.Namespaces{"argocd"}, versions: client}
	fail := true
	client.PrependReactor("list", "applicationsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fail, nil, errors.New("the API server does not answer")
	})
	_, err := s.Ungated(t.Context())
	g.Expect(err).To(MatchError("the API server does not answer"))
	fail = false
	g.Expect(s.Ungated(t.Context())).To(Equal([]string{"team-a", "team-b"}))
	g.Expect(s.Ungated(t.Context())).To(Equal([]string{"team-a", "team-b"}))
	g.Expect(lists).To(Equal(1), "they are remembered for a while")

	all := &scope{versions: client}
	g.Expect(all.Ungated(t.Context())).To(BeEmpty(), "all namespaces are gated")
	g.Expect(lists).To(Equal(1))
}
