// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/cmd/kube"
)

// deployment is stepgate's, with flags.
func deployment(args ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "stepgate", Name: "stepgate",
		Labels: map[string]string{"app.kubernetes.io/part-of": "stepgate", "app.kubernetes.io/component": "webhook"},
	}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "webhook", Args: append([]string{"serve"}, args...)}}
	return d
}

// TestTheDashboardReadsTheSettingsAgain and keeps what it knows where it cannot.
func TestTheDashboardReadsTheSettingsAgain(t *testing.T) {
	g := NewWithT(t)
	clientset := fake.NewClientset()
	b := newBoard(t.Context(), nil, &rollouts{cli: &cli{}, clients: &kube.Cluster{Clientset: clientset}}, "")
	g.Expect(b.gate().by).To(ContainSubstring("no installation was found"))
	g.Expect(b.gate().projects).To(Equal("argocd"))

	_, err := clientset.AppsV1().Deployments("stepgate").Create(t.Context(), deployment("--sync-windows=false"),
		metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	b.readSettings(t.Context())
	g.Expect(b.gate().by).To(Equal("the settings of Deployment stepgate/stepgate"))
	g.Expect(b.gate().projects).To(BeEmpty())

	clientset.PrependReactor("list", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the API server is away")
	})
	b.readSettings(t.Context())
	g.Expect(b.gate().by).To(Equal("the settings of Deployment stepgate/stepgate"))
}

// TestWhereTheHistoryIs: in the namespace of the installation that gates a namespace, if it keeps a ledger.
func TestWhereTheHistoryIs(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want error
	}{
		"no installation": {want: history.ErrNoGate},
		"no ledger":       {args: []string{"--installation=stepgate/stepgate"}, want: history.ErrOff},
		"nothing kept":    {args: []string{"--installation=stepgate/stepgate", "--ledger"}, want: history.ErrNoLedger},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clientset := fake.NewClientset()
			if tc.args != nil {
				clientset = fake.NewClientset(deployment(tc.args...))
			}
			gate := installation(t.Context(), clientset, "argocd")
			_, err := gate.log(t.Context(), clientset, "set")
			g.Expect(err).To(MatchError(tc.want))
			g.Expect(history.Missing(err, gate.namespace)).NotTo(BeEmpty())
		})
	}
}
