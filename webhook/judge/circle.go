package judge

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/order"
	"github.com/stepgate/stepgate/webhook/settings"
)

// reading reads what there is of a name, live or not.
type reading struct {
	named func(name types.NamespacedName) (Named, error)
	live  bool
}

// of reads what there is of a name of an order.
func (r reading) of(name order.Name) (Named, error) {
	n, err := r.named(name.NamespacedName)
	if name.Application {
		n = Named{Own: n.Own}
	}
	return n, err
}

// knownOf gives what is known of a name without a read.
func knownOf(known KnownSets) reading {
	return reading{named: func(name types.NamespacedName) (Named, error) { return NamedKnown(known, name), nil }}
}

// Follower is what comes after others: an ApplicationSet, an Application of it, or one that no ApplicationSet controls.
type Follower struct {
	// name is that of the Application, and set that of the ApplicationSet; without a name where there is none.
	name, set types.NamespacedName
}

// FollowerOf is an Application of an ApplicationSet. Without a name, it is the ApplicationSet itself.
func FollowerOf(set *argocd.ApplicationSet, application string) Follower {
	return Follower{
		name: types.NamespacedName{Namespace: set.Namespace, Name: application},
		set:  types.NamespacedName{Namespace: set.Namespace, Name: set.Name},
	}
}

// Circle is the way from a name back to whoever comes after it, by what is known without a read; nil if none is known.
func (f Follower) Circle(orders *order.Orders, known KnownSets, from order.Name) (way []string) {
	way, _ = f.way(context.Background(), orders, from, knownOf(known))
	return way
}

// circle is the way from a name back to the waiter, by what these come after; nil if there is none. It is looked for in
// what is known first: only where there seems to be one, it is read.
func (j *Judge) circle(ctx context.Context, w waiter, from order.Name, read reading) (way []string, err error) {
	if j.Known != nil && w.Circle(j.Orders, j.Known, from) == nil {
		return nil, nil
	}
	return w.way(ctx, j.Orders, from, read)
}

// mostOnTheWay bounds the names that are looked at for a circle.
const mostOnTheWay = 100

func (f Follower) way(
	ctx context.Context, orders *order.Orders, from order.Name, read reading,
) ([]string, error) {
	seen := map[order.Name]bool{}
	var walk func(name order.Name) ([]string, error)
	walk = func(name order.Name) ([]string, error) {
		if seen[name] || len(seen) == mostOnTheWay {
			return nil, nil
		}
		seen[name] = true
		here := []string{name.String()}
		if name.NamespacedName == f.name || name.NamespacedName == f.set && !name.Application {
			return here, nil
		}
		next, err := nextAfter(ctx, orders, name, read)
		if err != nil {
			return nil, err
		}
		for _, name := range next {
			if rest, err := walk(name); err != nil || rest != nil {
				return append(here, rest...), err
			}
		}
		return nil, nil
	}
	return walk(from)
}

// nextAfter are the names after which something of a name comes.
func nextAfter(
	ctx context.Context, orders *order.Orders, name order.Name, read reading,
) ([]order.Name, error) {
	n, err := read.of(name)
	if err != nil {
		return nil, err
	}
	var next order.Order
	if n.Set != nil {
		next = before(ctx, orders, read.live, n.Set, n.Members...)
	}
	if n.Own != nil {
		owner := argocd.Alone(n.Own.Namespace, n.Own.UID, n.Own.Annotations)
		if n.Own.Set != "" {
			of, err := read.named(n.Own.Key())
			if err != nil {
				return nil, err
			}
			if of.Set != nil {
				owner = of.Set
			}
		}
		next = next.And(before(ctx, orders, read.live, owner, n.Own))
	}
	return next.Before, next.Err
}

// before is what comes before an ApplicationSet, and before Applications of it.
func before(
	ctx context.Context, orders *order.Orders, live bool, set *argocd.ApplicationSet, apps ...*argocd.Projection,
) order.Order {
	t := order.Target{Set: set, Settings: orders.Parser.Of(set), Live: live}
	all := orders.Of(ctx, t)
	for _, p := range apps {
		t.Name, t.Annotations = p.Name, p.Annotations
		all = all.And(orders.Of(ctx, t))
	}
	return all
}

// AfterProblems are what is wrong with what an ApplicationSet comes after, by what is known without a read: whoever
// writes the annotation is told. The ApplicationSet need not exist yet.
func AfterProblems(orders *order.Orders, known KnownSets, set *argocd.ApplicationSet) []settings.Problem {
	return afterProblems(orders, known, FollowerOf(set, ""), orders.Parser.Of(set).After)
}

// OwnAfterProblems are the same for what an Application comes after by an annotation of its own, which it has with a
// write. set is the ApplicationSet that controls it, or the form of one (argocd.Alone).
func OwnAfterProblems(
	orders *order.Orders, known KnownSets, set *argocd.ApplicationSet, name string, annotations argocd.Annotations,
) []settings.Problem {
	own, problems := orders.Parser.OfApplication(set.Namespace, annotations)
	return append(problems, afterProblems(orders, known, FollowerOf(set, name), own)...)
}

func afterProblems(
	orders *order.Orders, known KnownSets, follower Follower, after settings.After,
) (problems []settings.Problem) {
	for _, name := range after.Names {
		n := NamedKnown(known, name)
		switch way := follower.Circle(orders, known, order.Name{NamespacedName: name}); {
		case way != nil:
			problems = append(problems, circular(way))
		case n.Set == nil && n.Own == nil:
			problems = append(problems, settings.Problem{
				Annotation: settings.AfterAnnotation,
				Text:       "waiting for " + name.String() + ", which does not exist: nothing starts until it does",
			})
		}
	}
	return problems
}

// circular says that a way leads back.
func circular(way []string) settings.Problem {
	return settings.Problem{Annotation: settings.AfterAnnotation, Text: policy.ClientText(
		"a circle: it comes after " + strings.Join(way, ", which comes after ") + ": it holds nobody up")}
}
