// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/presence"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/slots"
)

// TestTheSlotsOfTheInstallation are read where it keeps maxUpdate. Who may not read them is told so, and nothing wrong.
func TestTheSlotsOfTheInstallation(t *testing.T) {
	g := NewWithT(t)
	keeps := deployment("--max-update", "--installation=stepgate/gate", "--mode=enforce")
	text := `{"applicationSet":"argocd/guestbook","slots":[{"application":"engineering-prod-guestbook","uid":"prod","step":2,` +
		`"operation":"1","version":"1","at":"` + time.Now().UTC().Format(time.RFC3339) + `"}]}`
	registered := &admissionv1.ValidatingWebhookConfiguration{
		Webhooks: []admissionv1.ValidatingWebhook{{Name: presence.ValidatingWebhook}},
	}
	clientset := fake.NewClientset(keeps, registered, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "stepgate", Name: slots.Prefix + "set", Labels: map[string]string{slots.Label: "true"}},
		Data:       map[string]string{"slots.json": text},
	})
	known, prodUS := withSlots()
	judge := func() *rollout.Rollout {
		r := &rollouts{cli: &cli{}, clients: &kube.Cluster{Clientset: clientset}}
		gate := installation(t.Context(), clientset, "argocd")
		g.Expect(gate.by).To(Equal("the settings of Deployment stepgate/stepgate"))
		return rollout.Judge(r.preview(gate, known).Outlook(known.Sets()[0]))
	}
	sentence := func(r *rollout.Rollout) string {
		for _, app := range r.Steps[2].Applications {
			if app.Name == prodUS {
				return app.Sentence()
			}
		}
		return "it is not there"
	}
	r := judge()
	g.Expect(r.Problems).To(BeEmpty())
	g.Expect(sentence(r)).To(Equal(
		"waits: MaxUpdateReached: its maxUpdate is 1: engineering-prod-guestbook (MaxUpdateReached)"))

	clientset.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	r = judge()
	g.Expect(r.Problems).To(ConsistOf("the slots of maxUpdate count by what the Applications show, and the gate may " +
		"know of more, because its ConfigMaps cannot be read: list the ConfigMaps of slots: forbidden"))
	g.Expect(sentence(r)).To(Equal("may start"), "the Applications show no more")

	keeps.Spec.Template.Spec.Containers[0].Args = []string{"serve", "--mode=enforce"}
	_, err := clientset.AppsV1().Deployments("stepgate").Update(t.Context(), keeps, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	r = judge()
	g.Expect(r.Problems).To(BeEmpty(), "it keeps no slots")
	g.Expect(sentence(r)).To(Equal("may start"))
}

// crowded is a guestbook of which two Applications of step 3 may start, one at a time, and the name of the second.
func withSlots() (known *rollout.Snapshot, second string) {
	set := guestbook.Set("argocd")
	set.UID = "set"
	one := intstr.FromInt32(1)
	set.Spec.Strategy.RollingSync.Steps[2].MaxUpdate = &one
	known = rollout.NewSnapshot()
	var apps []*argo.Application
	add := func(env, name string, sync argo.SyncStatusCode) {
		app := guestbook.Application(set, env)
		app.UID, app.ResourceVersion = "prod", "1"
		if name != "" {
			app.Name, app.UID = name, "second"
		}
		guestbook.Compare(app, time.Now().Add(-time.Minute), guestbook.NewCommit, sync, "Healthy")
		apps = append(apps, app)
	}
	add("dev", "dev", argo.SyncStatusCodeSynced)
	add("qa", "qa", argo.SyncStatusCodeSynced)
	add("prod", "", argo.SyncStatusCodeOutOfSync)
	add("prod", "prod-us", argo.SyncStatusCodeOutOfSync)
	known.Add(set, apps...)
	return known, "prod-us"
}
