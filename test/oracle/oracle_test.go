// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/oracle"
	"github.com/stepgate/stepgate/webhook/argocd"
)

func TestTheApplicationSetIsReadAsItIs(t *testing.T) {
	g := NewWithT(t)
	reads := &recorder{}
	set, err := oracle.New(cluster(t, interceptor.Funcs{}, applicationSet()), reads).ApplicationSet(context.Background(),
		setName())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(set.ApplicationSet).To(Equal(argocd.NewApplicationSet(applicationSet()).ApplicationSet))
	g.Expect(set.Annotations.Texts()).To(Equal(map[string]string{"stepgate.io/require": "health"}))
	g.Expect(reads.kinds).To(Equal([]string{"applicationset_get"}))
	g.Expect(reads.errs).To(Equal([]error{nil}))
}

// TestAnApplicationSetThatIsNotThere is an answer and not a failure, unlike every other error.
func TestAnApplicationSetThatIsNotThere(t *testing.T) {
	g := NewWithT(t)
	reads := &recorder{}
	elsewhere := applicationSet()
	elsewhere.Namespace = "other"
	set, err := oracle.New(cluster(t, interceptor.Funcs{}, elsewhere), reads).ApplicationSet(context.Background(),
		setName())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(set).To(BeNil())
	g.Expect(reads.errs).To(Equal([]error{nil}))
}

// TestOnlyApplicationsOfTheSameApplicationSetAreSiblings has one unhealthy Application per kind of stranger.
func TestOnlyApplicationsOfTheSameApplicationSetAreSiblings(t *testing.T) {
	objects := []client.Object{
		degraded("sibling", owner("guestbook", setUID, true)),
		degraded("no-owner"),
		degraded("namesake", owner("guestbook", "another-uid", true)),
		degraded("not-controlled", owner("guestbook", setUID, false)),
		degraded("controlled-by-another", owner("guestbook", setUID, false), owner("other", "another-uid", true)),
	}
	abroad := degraded("abroad", owner("guestbook", setUID, true))
	abroad.Namespace = "other"
	objects = append(objects, abroad)

	var namespaces []string
	funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		options ...client.ListOption) error {
		namespaces = append(namespaces, listOptions(options).Namespace)
		return c.List(ctx, list, options...)
	}}
	g := NewWithT(t)
	reads := &recorder{}
	in := input()
	in.Siblings = []policy.Sibling{
		in.ApplicationSet.Sibling(&policy.Application{Name: "from-a-cache", Labels: map[string]string{"env": "dev"}}),
	}
	d, err := oracle.New(cluster(t, funcs, objects...), reads).Evaluate(context.Background(), in, policy.Decision{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Outcome).To(Equal(policy.Deny))
	g.Expect(d.Blockers).To(HaveLen(1))
	g.Expect(d.Blockers[0].Application).To(Equal("sibling"))
	g.Expect(namespaces).To(Equal([]string{"argocd"}))
	g.Expect(reads.kinds).To(Equal([]string{"application_list"}))
	g.Expect(reads.errs).To(Equal([]error{nil}))
}

// TestTheSiblingsAreReadAnew judges twice, before and after a sibling has become Healthy.
func TestTheSiblingsAreReadAnew(t *testing.T) {
	g := NewWithT(t)
	live := cluster(t, interceptor.Funcs{}, degraded("dev", owner("guestbook", setUID, true)))
	reader := oracle.New(live, &recorder{})
	before, err := reader.Evaluate(context.Background(), input(), policy.Decision{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(before.Outcome).To(Equal(policy.Deny))

	var app argo.Application
	g.Expect(live.Get(context.Background(), types.NamespacedName{Namespace: "argocd", Name: "dev"}, &app)).To(Succeed())
	app.Status.Health.Status = "Healthy"
	g.Expect(live.Update(context.Background(), &app)).To(Succeed())
	after, err := reader.Evaluate(context.Background(), input(), policy.Decision{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.Outcome).To(Equal(policy.Allow), after.Message())
	g.Expect(after.Reason).To(Equal(policy.EarlierStepsDone))
}

// TestAFailedReadIsNeverADecision fails the first and the second read of a request, in every way.
func TestAFailedReadIsNeverADecision(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, cause := range map[string]error{
		"forbidden":       apierrors.NewForbidden(applications(), "", errors.New("RBAC")),
		"too many":        apierrors.NewTooManyRequests("later", 1),
		"a timeout":       apierrors.NewTimeoutError("etcd", 1),
		"a deadline":      context.DeadlineExceeded,
		"canceled":        canceled.Err(),
		"a broken answer": errors.New("unexpected EOF"),
		"expired":         apierrors.NewResourceExpired("too old"),
	} {
		t.Run(name, func(t *testing.T) {
			for k := range 2 {
				g := NewWithT(t)
				reads, count := &recorder{}, 0
				fails := func() error {
					if count++; count == k+1 {
						return cause
					}
					return nil
				}
				reader := oracle.New(cluster(t, failing(fails), applicationSet(), healthy("dev")), reads)
				set, err := reader.ApplicationSet(context.Background(), setName())
				if k == 0 {
					g.Expect(set).To(BeNil())
				} else {
					g.Expect(err).NotTo(HaveOccurred())
					in := input()
					in.ApplicationSet = &set.ApplicationSet
					var d policy.Decision
					d, err = reader.Evaluate(context.Background(), in, policy.Decision{})
					g.Expect(d).To(Equal(policy.Decision{}), "the zero Decision denies")
				}
				g.Expect(err).To(MatchError(cause), "the cause stays visible")
				g.Expect(err.Error()).To(ContainSubstring("argocd"), "the error names what was read")
				g.Expect(reads.errs[k]).To(MatchError(cause), "the metrics see it")
			}
		})
	}
}

// TestAListThatIsNotFound is a failure: a missing CRD says nothing about the siblings.
func TestAListThatIsNotFound(t *testing.T) {
	g := NewWithT(t)
	missing := apierrors.NewNotFound(applications(), "")
	d, err := oracle.New(cluster(t, failing(func() error {
		return missing
	})), &recorder{}).Evaluate(context.Background(), input(), policy.Decision{})
	g.Expect(err).To(MatchError(missing))
	g.Expect(d).To(Equal(policy.Decision{}))
}

func TestAPartialListIsNoAnswer(t *testing.T) {
	g := NewWithT(t)
	funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		options ...client.ListOption) error {
		err := c.List(ctx, list, options...)
		list.SetContinue("more")
		return err
	}}
	d, err := oracle.New(cluster(t, funcs, healthy("dev")), &recorder{}).Evaluate(context.Background(), input(),
		policy.Decision{})
	g.Expect(err).To(MatchError("list Applications of namespace argocd: the answer is partial"))
	g.Expect(d).To(Equal(policy.Decision{}))
}

func setName() types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
}

func applications() schema.GroupResource {
	return schema.GroupResource{Group: "argoproj.io", Resource: "applications"}
}

// applicationSet has two steps: env dev, then env prod.
func applicationSet() *argo.ApplicationSet {
	step := func(env string) argo.ApplicationSetRolloutStep {
		return argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: "env", Operator: "In", Values: []string{env}}},
		}
	}
	return &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: "guestbook", UID: setUID, Annotations: map[string]string{"stepgate.io/require": "health"},
		},
		Spec: argo.ApplicationSetSpec{Strategy: &argo.ApplicationSetStrategy{
			Type:        "RollingSync",
			RollingSync: &argo.ApplicationSetRolloutStrategy{Steps: []argo.ApplicationSetRolloutStep{step("dev"), step("prod")}},
		}},
	}
}

// input is a sync of prod, in the second step.
func input() policy.Input {
	set := argocd.NewApplicationSet(applicationSet()).ApplicationSet
	compared := argocd.Sibling(application()).Compared
	return policy.Input{
		ApplicationSet: &set,
		Target: policy.Target{
			Name: "prod", Labels: map[string]string{"env": "prod"},
			Managed: true, Operation: policy.Operation{Written: true}, Wanted: compared, Compared: compared, SpecCompared: true,
		},
	}
}

func healthy(name string, owners ...metav1.OwnerReference) *argo.Application {
	app := application()
	app.Name = name
	if len(owners) > 0 {
		app.OwnerReferences = owners
	}
	return app
}

func degraded(name string, owners ...metav1.OwnerReference) *argo.Application {
	app := healthy(name)
	app.OwnerReferences = owners
	app.Status.Health.Status = "Degraded"
	return app
}

func cluster(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(argo.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

// recorder is told of reads.
type recorder struct {
	kinds []string
	errs  []error
}

func (r *recorder) ReadDone(kind string, _ time.Duration, err error) {
	r.kinds, r.errs = append(r.kinds, kind), append(r.errs, err)
}
