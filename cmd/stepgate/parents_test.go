// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestTheHistoryOfParents: all of them where an installation has them order something, and one by its name in any case.
func TestTheHistoryOfParents(t *testing.T) {
	g := NewWithT(t)
	app := func(name string, annotations map[string]string) *argo.Application {
		return &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, Annotations: annotations}}
	}
	orders := map[string]string{settings.WavesAnnotation: "true"}
	scheme := runtime.NewScheme()
	g.Expect(argo.AddToScheme(scheme)).To(Succeed())
	clients := &kube.Cluster{Objects: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		app("platform", orders), app("other", orders), app("plain", nil)).Build()}
	on, off := &gates{all: []*installed{{config: settings.Config{Waves: true}}}}, &gates{all: []*installed{{}}}
	for _, tc := range []struct {
		gates *gates
		only  string
		want  []string
	}{
		{on, "", []string{"waves/other", "waves/platform"}},
		{off, "", nil},
		{off, policy.NameOfParent("platform"), []string{"waves/platform"}},
		{on, "guestbook", nil},
	} {
		found, err := parentsOf(t.Context(), clients, tc.gates, "argocd", tc.only)
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, set := range found {
			names = append(names, set.Name)
			parent, _ := policy.ParentNamed(set.Name)
			g.Expect(set.UID).To(Equal(argocd.UIDOfParent("argocd", parent)), "by which the ledger keeps its log")
		}
		g.Expect(names).To(Equal(tc.want))
	}
}
