package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/order"
	"github.com/stepgate/stepgate/webhook/settings"
)

// declared is a Declarer of one order.
type declared order.Order

// Order implements order.Declarer.
func (d declared) Order(context.Context, order.Target) order.Order { return order.Order(d) }

func named(name string, application bool) order.Name {
	return order.Name{NamespacedName: types.NamespacedName{Namespace: "argocd", Name: name}, Application: application}
}

// TestOf has steps, stepgate.io/after of the ApplicationSet and of the Application, and two others.
func TestOf(t *testing.T) {
	g := NewWithT(t)
	set := &argocd.ApplicationSet{
		ApplicationSet: policy.ApplicationSet{Namespace: "argocd", Name: "guestbook", RollingSync: true},
		Annotations:    argocd.ReadAnnotations(map[string]string{settings.AfterAnnotation: "infra"}),
	}
	parser, unread := settings.NewParser(settings.Config{}, settings.At(time.Time{})), errors.New("no answer")
	target := order.Target{
		Set: set, Settings: parser.Of(set), Name: "dev",
		Annotations: argocd.ReadAnnotations(map[string]string{settings.AfterAnnotation: "base,infra"}),
	}
	o := order.New(parser).Of(t.Context(), target)
	g.Expect(o.Steps).To(BeIdenticalTo(&set.ApplicationSet))
	g.Expect(o.Before).To(Equal([]order.Name{named("infra", false), named("base", false)}))
	g.Expect(o.Waits()).To(BeTrue())

	other := declared{
		Before: []order.Name{named("infra", true), named("base", false), named("lone", true)}, Steps: &policy.ApplicationSet{},
	}
	o = order.New(parser, other, declared{Err: unread}).Of(t.Context(), target)
	g.Expect(o.Steps).To(BeIdenticalTo(&set.ApplicationSet), "the steps of its own ApplicationSet")
	g.Expect(o.Before).To(Equal([]order.Name{named("infra", false), named("base", false), named("lone", true)}))
	g.Expect(o.Err).To(MatchError(unread))

	target.Annotations = argocd.ReadAnnotations(map[string]string{settings.AfterAnnotation: "a,,b"})
	o = order.New(parser).Of(t.Context(), target)
	g.Expect(o.Unreadable).To(ContainSubstring("is no name"))
	g.Expect(o.Problems).To(HaveLen(1))
}

// TestWaits says yes to all that may hold a target up.
func TestWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		o    order.Order
		want bool
	}{
		"nothing": {}, "steps": {o: order.Order{Steps: &policy.ApplicationSet{}}},
		"a name":                    {order.Order{Before: []order.Name{named("a", false)}}, true},
		"an annotation":             {order.Order{Unreadable: "x"}, true},
		"what could not be read":    {order.Order{Err: errors.New("x")}, true},
		"what is wrong with a name": {o: order.Order{Problems: []settings.Problem{{}}}},
	} {
		NewWithT(t).Expect(tc.o.Waits()).To(Equal(tc.want), name)
	}
}
