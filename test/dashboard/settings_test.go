// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/scenario"
)

// installedWith creates the Deployment of a stepgate with flags, which gates one namespace, and lets a user read it.
func installedWith(t *testing.T, namespace, user string, args ...string) {
	t.Helper()
	labels := map[string]string{"app.kubernetes.io/part-of": "stepgate", "app.kubernetes.io/component": "webhook"}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "stepgate", Labels: labels}
	args = append([]string{"serve", "--application-namespaces=" + namespace}, args...)
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "settings-" + user}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"},
		}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "settings-" + user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "settings-" + user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "webhook", Image: "stepgate", Args: args}}},
			},
		}},
	} {
		NewWithT(t).Expect(shared.Admin.Create(t.Context(), o)).To(Succeed())
	}
}

// TestTheSettingsAreReadAgain while the page is open: a stepgate is installed that asks for less, and looks at no sync
// window, so that other watches begin.
func TestTheSettingsAreReadAgain(t *testing.T) {
	write(t, "settings", waitsForApproval())
	edit(t, "settings", "dev", func(app *argo.Application) { app.Status.Sync.Revision = scenario.Commit("a") })
	b := serve(t, "settings", cluster.Human)
	b.open(desk, "guestbook")
	b.Expect(b.Text("[data-tile='dev']")).To(ContainSubstring("NotCompleted"))
	installedWith(t, "settings", cluster.Human, "--require=health", "--sync-windows=false")
	b.Eventually(func() int { return b.Count(".sg-tile-done [data-tile='dev']") }).Should(Equal(1))
	edit(t, "settings", "dev", func(app *argo.Application) { app.Status.Health.Status = "Degraded" })
	b.Sees(".sg-tile-failed [data-tile='dev']")
	b.Expect(b.Complaints()).To(BeEmpty())
}
