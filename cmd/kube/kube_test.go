// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestEventCreator(t *testing.T) {
	g := NewWithT(t)
	clientset := fake.NewClientset()
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "prod-1"}, Reason: "SyncDenied"}
	g.Expect(EventCreator{clientset}.CreateEvent(t.Context(), event)).To(Succeed())
	created, err := clientset.EventsV1().Events("argocd").Get(t.Context(), "prod-1", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(created.Reason).To(Equal("SyncDenied"))
	g.Expect(EventCreator{clientset}.CreateEvent(t.Context(), event)).NotTo(Succeed(), "an error is not swallowed")
}

// The resources are known without discovery, with the plurals that Argo CD registers.
func TestArgoMapper(t *testing.T) {
	g := NewWithT(t)
	for kind, plural := range map[string]string{"Application": "applications", "ApplicationSet": "applicationsets"} {
		mapping, err := argoMapper().RESTMapping(argo.SchemeGroupVersion.WithKind(kind).GroupKind(), "v1alpha1")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(mapping.Resource).To(Equal(argo.SchemeGroupVersion.WithResource(plural)))
		g.Expect(mapping.Scope.Name()).To(BeEquivalentTo("namespace"))
	}
}
