// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook"
)

// rollout is the guestbook ApplicationSet in a namespace of its own, with a stepgate of its own: dev is Progressing at
// the new commit, qa and prod are OutOfSync at it.
type rollout struct {
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	replica   *installed.Replica
	*guestbook.Rollout
}

// rollouts counts the namespaces.
var rollouts atomic.Int32

// newRollout starts a gate for the test with extra flags.
func newRollout(t *testing.T, args ...string) *rollout {
	return newRolloutWith(t, installed.Options{Args: args})
}

func newRolloutWith(t *testing.T, o installed.Options) *rollout {
	t.Helper()
	r := newRolloutNotReady(t, o)
	r.Expect(r.replica.WaitReady(r.ctx)).To(Succeed())
	r.waitUntilCalled()
	return r
}

// newRolloutNotReady does not wait until the gate is ready.
func newRolloutNotReady(t *testing.T, o installed.Options) *rollout {
	t.Helper()
	r := &rollout{WithT: NewWithT(t), t: t, ctx: t.Context()}
	r.namespace = fmt.Sprintf("rollout-%d", rollouts.Add(1))
	r.Expect(shared.CreateNamespace(r.ctx, r.namespace)).To(Succeed())
	r.create()
	o.Name = "stepgate-" + r.namespace
	o.Namespaces = []string{r.namespace}
	o.Args = append([]string{"--shutdown-delay=0s", "--zap-log-level=debug", "--spec-settling=0"}, o.Args...)
	replica, err := installed.StartOne(r.ctx, shared, o)
	r.Expect(err).NotTo(HaveOccurred())
	r.replica = replica
	t.Cleanup(func() {
		replica.Kill()
		if t.Failed() {
			t.Log(replica.Log())
		}
	})
	return r
}

// create writes the ApplicationSet and its Applications before the gate is registered.
func (r *rollout) create() {
	var err error
	r.Rollout, err = guestbook.Create(r.ctx, shared.Admin, r.namespace, guestbook.Lately,
		func(made *guestbook.Rollout, env string, app *argo.Application) {
			sync, state := argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy
			if env == "dev" {
				sync, state = argo.SyncStatusCodeSynced, health.HealthStatusProgressing
			}
			guestbook.Compare(app, made.Tick(), guestbook.NewCommit, sync, state)
		})
	r.Expect(err).NotTo(HaveOccurred())
}

// waitUntilCalled waits until the API server calls the gate, and what changes operations, if it is registered: it
// learns of a registration a moment after it is stored.
func (r *rollout) waitUntilCalled() {
	r.t.Helper()
	mutating, err := installed.Mutating(r.ctx, shared, r.replica.Name)
	r.Expect(err).NotTo(HaveOccurred())
	paths := []string{webhook.ValidatePath}
	if mutating.Webhooks[installed.ChangesOperations] != nil {
		paths = append(paths, webhook.MutatePath)
	}
	for _, path := range paths {
		r.Eventually(func() (float64, error) {
			_ = r.sync(cluster.Human, "prod", client.DryRunAll)
			return r.replica.Metric(r.ctx, "stepgate_requests_total", "path", path)
		}).Should(BeNumerically(">", 0))
	}
}

// as returns a client of a user.
func (r *rollout) as(user string) client.Client {
	c, err := shared.Client(user)
	r.Expect(err).NotTo(HaveOccurred())
	return c
}

func (r *rollout) app(env string) *argo.Application {
	app, err := r.App(r.ctx, env)
	r.Expect(err).NotTo(HaveOccurred())
	return app
}

// caughtUp returns when the API server's cache has an object as it is stored. A write that begins with an older one is
// admitted twice: the API server tries it again when etcd says that the object has changed, and calls stepgate again.
func (r *rollout) caughtUp(obj client.Object) {
	r.t.Helper()
	key := client.ObjectKeyFromObject(obj)
	r.Expect(shared.Admin.Get(r.ctx, key, obj)).To(Succeed())
	r.Expect(shared.Admin.Get(r.ctx, key, obj, &client.GetOptions{
		Raw: &metav1.GetOptions{ResourceVersion: obj.GetResourceVersion()},
	})).To(Succeed())
}

// update merge-patches an Application as a user.
func (r *rollout) update(user, env string, change func(*argo.Application), opts ...client.PatchOption) error {
	r.t.Helper()
	r.caughtUp(r.app(env))
	return r.Update(r.ctx, r.as(user), env, change, opts...)
}

// sync writes the operation of a RollingSync as a user. An early one is refused, unless he is the ApplicationSet controller.
func (r *rollout) sync(user, env string, opts ...client.PatchOption) error {
	return r.update(user, env, func(app *argo.Application) {
		if app.Operation = guestbook.RollingSync(); user != cluster.ApplicationSetAccount {
			app.Operation = guestbook.Once(app.Operation)
		}
	}, opts...)
}

// done brings an Application to Healthy and Synced at the new commit.
func (r *rollout) done(env string) {
	r.t.Helper()
	r.Expect(r.update(cluster.ControllerAccount, env, func(app *argo.Application) {
		guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
		app.Operation = nil
	})).To(Succeed())
}

// refreshed lets Argo CD answer a refresh of an Application: it is then known to be compared after the request.
func (r *rollout) refreshed(env string) {
	r.t.Helper()
	r.Expect(r.update(cluster.ServerAccount, env, func(app *argo.Application) {
		app.Annotations = map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeNormal)}
	})).To(Succeed())
	r.done(env)
}

// stored reports whether the Application has an operation.
func (r *rollout) stored(env string) bool { return r.app(env).Operation != nil }

// requests is how often the API server has called the gate, at either path.
func (r *rollout) requests() float64 {
	r.t.Helper()
	n, err := r.replica.Metric(r.ctx, "stepgate_requests_total")
	r.Expect(err).NotTo(HaveOccurred())
	return n
}

// events are the Events on an Application with a reason.
func (r *rollout) events(env, reason string) []eventsv1.Event {
	var list eventsv1.EventList
	r.Expect(shared.Admin.List(r.ctx, &list, client.InNamespace(r.namespace))).To(Succeed())
	var found []eventsv1.Event
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.Name == "engineering-"+env+"-guestbook" {
			found = append(found, e)
		}
	}
	return found
}

// bothBlock are the causes of a denial of step 3 while dev is Progressing and qa OutOfSync, and blockedByBoth is what
// an Event says of them. The words of a denial are for the tests of policy.
var (
	bothBlock     = []string{"NotHealthy engineering-dev-guestbook", "NotCompleted engineering-qa-guestbook"}
	blockedByBoth = And(
		ContainSubstring("engineering-dev-guestbook (NotHealthy: "),
		ContainSubstring("engineering-qa-guestbook (NotCompleted: "),
	)
)

// denied asserts a denial: a 403 by the gate with these causes ("Reason Application").
func (r *rollout) denied(err error, causes ...string) {
	r.t.Helper()
	r.Expect(err).To(HaveOccurred())
	r.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "not a 403: %v", err)
	var status *apierrors.StatusError
	r.Expect(errors.As(err, &status)).To(BeTrue())
	r.Expect(status.Status().Message).To(HavePrefix(`admission webhook "operation.stepgate.io" denied the request: `))
	r.Expect(causesOf(status)).To(Equal(causes))
	r.Expect(status.Status().Details.RetryAfterSeconds).To(BeZero())
}

// causesOf are the causes of a denial ("Reason Application").
func causesOf(status *apierrors.StatusError) (all []string) {
	for _, c := range status.Status().Details.Causes {
		all = append(all, string(c.Type)+" "+c.Field)
	}
	return all
}
