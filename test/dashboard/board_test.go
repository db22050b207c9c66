// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/scenario"
)

// board is a dashboard of a namespace in a browser.
type board struct {
	*WithT
	*browser.Browser
	t         *testing.T
	namespace string
	address   string
}

// write creates a rollout of package scenario in a namespace of its own, with a past and a commit to deploy.
func write(t *testing.T, namespace string, made *scenario.Cluster) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(shared.CreateNamespace(t.Context(), namespace)).To(Succeed())
	set := made.Sets[0]
	set.Namespace, set.UID = namespace, ""
	full := guestbook.Set(namespace).Spec // the API server wants generators and a template
	full.Strategy = set.Spec.Strategy
	set.Spec = full
	status := set.Status
	g.Expect(shared.Admin.Create(t.Context(), set)).To(Succeed())
	if set.Status = status; len(status.ApplicationStatus) > 0 {
		g.Expect(shared.Admin.Status().Update(t.Context(), set)).To(Succeed())
	}
	for _, app := range made.Apps {
		app.Namespace, app.UID, app.OwnerReferences[0].UID = namespace, "", set.UID
		g.Expect(shared.Admin.Create(t.Context(), app)).To(Succeed())
	}
}

// nowIs moves the comparisons of a scenario to the present, and gives each Application a sync before that.
func nowIs(made *scenario.Cluster, now time.Time) *scenario.Cluster {
	for i, app := range made.Apps {
		began := metav1.NewTime(now.Add(time.Duration(i-60) * time.Minute).Truncate(time.Second))
		ended := metav1.NewTime(began.Add(30 * time.Second))
		compared := metav1.NewTime(now.Add(-time.Minute).Truncate(time.Second))
		app.Status.ReconciledAt = &compared
		app.Status.History = []argo.RevisionHistory{{
			Revision: scenario.Commit("a"), Source: app.Spec.GetSource(), DeployStartedAt: &began, DeployedAt: ended,
			InitiatedBy: argo.OperationInitiator{Automated: true},
		}}
	}
	return made
}

// serve runs `stepgate dashboard` as a user, and opens nothing.
func serve(t *testing.T, namespace, user string) *board {
	t.Helper()
	b := &board{WithT: NewWithT(t), t: t, namespace: namespace}
	kubeconfig, err := shared.AdminKubeconfig()
	b.Expect(err).NotTo(HaveOccurred())
	b.address = browser.Dashboard(t, shared.Binary, "--kubeconfig", kubeconfig, "-n", namespace, "--as", user)
	b.Browser = browser.Start(t)
	return b
}

// desk is the size of an ordinary window.
var desk = browser.Tab{Width: 1280, Height: 900}

// open opens a view in a tab, and waits until it has its facts: the empty one is all rollouts.
func (b *board) open(tab browser.Tab, view string) {
	b.t.Helper()
	tab.URL = b.address
	b.Open(tab)
	b.Sees("h1")
	if view != "" {
		b.Evaluate(fmt.Sprintf("location.hash = %q", "#/"+b.namespace+"/"+view), nil)
	}
	b.Sees("h1:has-text('" + view + "')")
	b.Eventually(func() int { return b.Count("text=Reading the rollout") }).Should(Equal(0))
}

// wellFormed fails the test if the page breaks a rule of WCAG 2.2 AA, is wider than the window, or has caused an error.
func (b *board) wellFormed() {
	b.t.Helper()
	b.Expect(b.Accessibility()).To(BeEmpty())
	var tooWide int
	b.Evaluate("document.documentElement.scrollWidth - window.innerWidth", &tooWide)
	b.Expect(tooWide).To(BeNumerically("<=", 0), "px too wide")
	b.Expect(b.Complaints()).To(BeEmpty())
}

// focused is the Application whose tile has the focus; empty if none has.
func (b *board) focused() (name string) {
	b.Evaluate("document.activeElement?.dataset.tile ?? ''", &name)
	return name
}

// mayRead lets a user get, list and watch Argo CD's objects of a namespace.
func mayRead(t *testing.T, namespace, user string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
	NewWithT(t).Expect(shared.Admin.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"},
		Verbs: []string{"get", "list", "watch"},
	}}})).To(Succeed())
	NewWithT(t).Expect(shared.Admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
}

// gated starts a stepgate for a namespace.
func gated(t *testing.T, namespace string) {
	t.Helper()
	g := NewWithT(t)
	o := installed.Options{Args: []string{"--shutdown-delay=0s", "--spec-settling=0"}}
	o.Name, o.Namespaces = "stepgate-"+namespace, []string{namespace}
	replica, err := installed.StartOne(t.Context(), shared, o)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(replica.Kill)
	g.Expect(replica.WaitReady(t.Context())).To(Succeed())
}

// kept writes the history of the ApplicationSet guestbook, and the Deployment that says where it is: in its own namespace.
func kept(t *testing.T, namespace string) {
	t.Helper()
	g := NewWithT(t)
	set := &argo.ApplicationSet{}
	name := types.NamespacedName{Namespace: namespace, Name: "guestbook"}
	g.Expect(shared.Admin.Get(t.Context(), name, set)).To(Succeed())
	history, err := guestbook.Kept(set, namespace, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shared.Admin.Create(t.Context(), history)).To(Succeed())
	labels := map[string]string{"app.kubernetes.io/part-of": "stepgate", "app.kubernetes.io/component": "webhook"}
	gate := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gate", Labels: labels}}
	gate.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	gate.Spec.Template.Labels = labels
	gate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "webhook", Image: "stepgate", Args: []string{
		"serve", "--ledger", "--installation=" + namespace + "/gate", "--application-namespaces=" + namespace,
	}}}
	g.Expect(shared.Admin.Create(t.Context(), gate)).To(Succeed())
	// What somebody needs to find it, and to read it.
	meta := metav1.ObjectMeta{Name: "history-" + namespace}
	g.Expect(shared.Admin.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	}})).To(Succeed())
	g.Expect(shared.Admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: cluster.Human}},
	})).To(Succeed())
}

// edit changes an Application as Argo CD's controller does.
func edit(t *testing.T, namespace, name string, change func(app *argo.Application)) {
	t.Helper()
	g := NewWithT(t)
	c, err := shared.Client(cluster.ControllerAccount)
	g.Expect(err).NotTo(HaveOccurred())
	app := &argo.Application{}
	g.Expect(c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, app)).To(Succeed())
	before := app.DeepCopy()
	change(app)
	g.Expect(c.Patch(t.Context(), app, client.MergeFrom(before))).To(Succeed())
}

// annotated are the annotations of the ApplicationSet guestbook.
func annotated(t *testing.T, namespace string) map[string]string {
	t.Helper()
	set := &argo.ApplicationSet{}
	NewWithT(t).Expect(shared.Admin.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "guestbook"}, set)).
		To(Succeed())
	return set.Annotations
}
