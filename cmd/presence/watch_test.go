// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// cluster has an installation that gates argocd and team-a, and fails closed.
type cluster struct {
	*WithT
	*fake.Clientset
	ctx   context.Context
	watch *Watch
	// fails are the errors of resources.
	fails map[string]error
}

func newCluster(t *testing.T, namespaces ...string) *cluster {
	t.Helper()
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: record.IgnoreLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{record.IgnoreValue}},
	}}
	labels := map[string]string{"app.kubernetes.io/part-of": "stepgate", "app.kubernetes.io/component": "webhook"}
	c := &cluster{WithT: NewWithT(t), ctx: t.Context(), fails: map[string]error{}, Clientset: fake.NewClientset(
		&admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "gate"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: ValidatingWebhook, NamespaceSelector: selector, ClientConfig: admissionv1.WebhookClientConfig{
					Service: &admissionv1.ServiceReference{Namespace: "stepgate", Name: "gate"},
				},
			}},
		},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "stepgate", Name: "gate", Labels: labels},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, ReadyReplicas: 1},
		},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}},
	)}
	c.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		err := c.fails[a.GetResource().Resource]
		return err != nil, nil, err
	})
	c.watch = NewWatch(c, types.NamespacedName{Namespace: "stepgate", Name: "gate"}, namespaces)
	return c
}

// of reads, and says what is known of a namespace then.
func (c *cluster) of(namespace string) settings.Presence {
	_ = c.watch.read(c.ctx)
	return c.watch.Of(namespace)
}

func (c *cluster) unregister() {
	c.Expect(c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(c.ctx, "gate",
		metav1.DeleteOptions{})).To(Succeed())
}

func (c *cluster) undeploy() {
	c.Expect(c.AppsV1().Deployments("stepgate").Delete(c.ctx, "gate", metav1.DeleteOptions{})).To(Succeed())
}

func (c *cluster) scale(ready int32) {
	d, err := c.AppsV1().Deployments("stepgate").Get(c.ctx, "gate", metav1.GetOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	d.Status.ReadyReplicas = ready
	_, err = c.AppsV1().Deployments("stepgate").UpdateStatus(c.ctx, d, metav1.UpdateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
}

func (c *cluster) ignore(namespace string) {
	n, err := c.CoreV1().Namespaces().Get(c.ctx, namespace, metav1.GetOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	n.Labels = map[string]string{record.IgnoreLabel: record.IgnoreValue}
	_, err = c.CoreV1().Namespaces().Update(c.ctx, n, metav1.UpdateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
}

func (c *cluster) failOpen() {
	all := c.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	w, err := all.Get(c.ctx, "gate", metav1.GetOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	open := admissionv1.Ignore
	w.Webhooks[0].FailurePolicy = &open
	_, err = all.Update(c.ctx, w, metav1.UpdateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
}

var (
	forbidden = apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	outage    = apierrors.NewServiceUnavailable("an outage")
)

// TestAWatchSeesWhetherThereIsAGate, with all namespaces and with some by name.
func TestAWatchSeesWhetherThereIsAGate(t *testing.T) {
	const (
		unregistered = "the API server calls no stepgate: no ValidatingWebhookConfiguration has its webhook; " +
			"see stepgate doctor"
		gone    = "there is no Deployment of stepgate in namespace stepgate"
		unready = "no replica of Deployment stepgate/gate is ready"
		open    = ", and the failure policy is Ignore"
	)
	for name, tc := range map[string]struct {
		happens func(*cluster)
		want    settings.Presence
	}{
		"all is well":                       {happens: func(*cluster) {}},
		"unregistered":                      {func(c *cluster) { c.unregister() }, settings.Presence{NoGate: unregistered}},
		"this namespace is ignored":         {func(c *cluster) { c.ignore("team-a") }, settings.Presence{NoGate: "namespace team-a has the label stepgate.io/ignore=true"}},
		"another namespace is ignored":      {happens: func(c *cluster) { c.ignore("argocd") }},
		"no Deployment, and it fails open":  {func(c *cluster) { c.failOpen(); c.undeploy() }, settings.Presence{NoGate: gone + open}},
		"no replica, and it fails open":     {func(c *cluster) { c.failOpen(); c.scale(0) }, settings.Presence{NoGate: unready + open}},
		"no Deployment, and it fails close": {func(c *cluster) { c.undeploy() }, settings.Presence{Problem: "every sync is refused: " + gone + "; see stepgate doctor --emergency"}},
		"no right to read the webhook":      {happens: func(c *cluster) { c.unregister(); c.fails["validatingwebhookconfigurations"] = forbidden }},
		"no right to read the Deployment":   {happens: func(c *cluster) { c.undeploy(); c.fails["deployments"] = forbidden }},
		"no right to read namespaces":       {happens: func(c *cluster) { c.ignore("team-a"); c.fails["namespaces"] = forbidden }},
		"an outage from the beginning":      {happens: func(c *cluster) { c.unregister(); c.fails["validatingwebhookconfigurations"] = outage }},
	} {
		for of, namespaces := range map[string][]string{"all": {""}, "named": {"argocd", "team-a"}} {
			t.Run(name+", "+of, func(t *testing.T) {
				c := newCluster(t, namespaces...)
				tc.happens(c)
				c.Expect(c.of("team-a")).To(Equal(tc.want))
			})
		}
	}
}

// TestWhatAWatchLosesSightOf: a right that is taken away leaves nothing known, and an outage all that was.
func TestWhatAWatchLosesSightOf(t *testing.T) {
	for _, resource := range []string{"validatingwebhookconfigurations", "namespaces", "deployments"} {
		for _, namespaces := range [][]string{{""}, {"team-a"}} {
			c := newCluster(t, namespaces...)
			c.failOpen()
			c.undeploy()
			known := c.of("team-a")
			c.Expect(known.NoGate).NotTo(BeEmpty())
			c.fails[resource] = outage
			c.Expect(c.of("team-a")).To(Equal(known), resource)
			c.fails[resource] = forbidden
			c.Expect(c.of("team-a")).To(Equal(settings.Presence{}), resource)
		}
	}
}

// TestAWatchTellsOfChanges, and of nothing else.
func TestAWatchTellsOfChanges(t *testing.T) {
	c, told := newCluster(t, ""), 0
	c.watch.OnChange(func() { told++ })
	for _, step := range []struct {
		happens func()
		told    int
	}{
		{func() {}, 0}, {func() { c.ignore("team-a") }, 1}, {func() {}, 1}, {func() { c.scale(2) }, 1}, {func() { c.scale(0) }, 2},
		{func() { c.unregister() }, 3}, {func() { c.undeploy() }, 3},
	} {
		step.happens()
		_ = c.of("team-a")
		c.Expect(told).To(Equal(step.told))
	}
}

// TestAWatchReadsLittle: a few objects by name, and a list of namespaces only where they have no names.
func TestAWatchReadsLittle(t *testing.T) {
	for want, namespaces := range map[string][]string{"list": {""}, "get": {"team-a"}} {
		c := newCluster(t, namespaces...)
		c.ClearActions()
		_ = c.of("team-a")
		var verbs []string
		for _, a := range c.Actions() {
			verbs = append(verbs, a.GetVerb()+" "+a.GetResource().Resource)
		}
		c.Expect(verbs).To(Equal([]string{"get validatingwebhookconfigurations", "get deployments", want + " namespaces"}))
	}
}
