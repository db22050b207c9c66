package judge

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// reading reads what there is of a name.
type reading func(name types.NamespacedName) (Named, error)

// waiter is an Application that comes after others.
type waiter struct {
	// name is its own, and set that of its ApplicationSet; without a name where there is none.
	name, set types.NamespacedName
	// changed and compared are the positions of its change and of its comparison.
	changed, compared uint64
}

// Follow decides about a write that the steps let through, as far as it comes after others: d is what the steps say.
// problems are what is wrong with the annotation. On an error there is no decision.
func (j *Judge) follow(
	ctx context.Context, w *Write, in policy.Input, set *argocd.ApplicationSet, after settings.After, d policy.Decision,
) (decided policy.Decision, problems []settings.Problem, err error) {
	if d.Outcome == policy.Deny || after.Empty() || !policy.Follows(in) {
		return d, nil, nil
	}
	target := waiter{
		name:    types.NamespacedName{Namespace: w.Namespace, Name: w.Target.Name},
		set:     types.NamespacedName{Namespace: w.Namespace, Name: set.Name},
		changed: j.changed(w), compared: j.Histories.ComparedAt(w.UID, w.Target.ReconciledAt),
	}
	return j.followed(in, d, after, target, func(name types.NamespacedName) (Named, error) {
		return j.Live.Named(ctx, name)
	})
}

// FollowKnown decides about the sync that an Application waits for in the same way, by what is known without a read. in
// is the completed input of that sync, and after is what its ApplicationSet says.
func (j *Judge) FollowKnown(
	in policy.Input, d policy.Decision, set *argocd.ApplicationSet, after settings.After, p *argocd.Projection,
	known KnownSets,
) policy.Decision {
	own, _ := j.Parser.OfApplication(p.Namespace, p.Annotations)
	after = after.And(own)
	if d.Outcome == policy.Deny || after.Empty() || !policy.Follows(in) {
		return d
	}
	target := waiter{
		name:     types.NamespacedName{Namespace: p.Namespace, Name: p.Name},
		set:      types.NamespacedName{Namespace: p.Namespace, Name: set.Name},
		changed:  j.Histories.Changed(p.UID, in.Target.Compared, p.Compared),
		compared: j.Histories.ComparedAt(p.UID, in.Target.ReconciledAt),
	}
	d, _, _ = j.followed(in, d, after, target, func(name types.NamespacedName) (Named, error) {
		return NamedKnown(known, name), nil
	})
	return d
}

// followed decides by what a reading gives of the names. It reads a circle only where one is known.
func (j *Judge) followed(
	in policy.Input, d policy.Decision, after settings.After, w waiter, read reading,
) (policy.Decision, []settings.Problem, error) {
	var all []policy.Dependency
	var problems []settings.Problem
	for _, name := range after.Names {
		n, err := read(name)
		if err != nil {
			return policy.Decision{}, nil, err
		}
		dep := j.dependency(name, n, w)
		if way, err := j.circle(w, name, read); err != nil {
			return policy.Decision{}, nil, err
		} else if way != nil {
			dep.Circle = true
			problems = append(problems, circular(way))
		}
		all = append(all, dep)
	}
	return policy.Follow(in, d, all, after.Unreadable), problems, nil
}

// dependency is what there is of a name as the rule takes it.
func (j *Judge) dependency(name types.NamespacedName, n Named, w waiter) policy.Dependency {
	past := map[*policy.Application]policy.Past{}
	dep := policy.Dependency{
		Namespace: name.Namespace, Name: name.Name, Past: func(a *policy.Application) policy.Past { return past[a] },
	}
	of := func(p *argocd.Projection) *policy.Application {
		past[&p.Application] = j.Histories.Past(p.UID, w.changed, w.compared)
		return &p.Application
	}
	if n.Own != nil {
		dep.Own = of(n.Own)
	}
	if n.Set != nil {
		dep.Set = &n.Set.ApplicationSet
		for _, p := range n.Members {
			dep.Members = append(dep.Members, of(p))
		}
	}
	return dep
}

// mostOnTheWay bounds the names that are looked at for a circle.
const mostOnTheWay = 100

// circle is the way from a name back to the waiter, by what these come after; nil if there is none. It is looked for in
// what is known first: only where there seems to be one, it is read.
func (j *Judge) circle(w waiter, from types.NamespacedName, read reading) (way []string, err error) {
	if j.Known != nil {
		known, _ := j.way(w, from, func(name types.NamespacedName) (Named, error) { return NamedKnown(j.Known, name), nil })
		if known == nil {
			return nil, nil
		}
	}
	return j.way(w, from, read)
}

func (j *Judge) way(w waiter, from types.NamespacedName, read reading) ([]string, error) {
	seen := map[types.NamespacedName]bool{}
	var walk func(name types.NamespacedName) ([]string, error)
	walk = func(name types.NamespacedName) ([]string, error) {
		if seen[name] || len(seen) == mostOnTheWay {
			return nil, nil
		}
		seen[name] = true
		here := []string{name.String()}
		if name == w.name || name == w.set {
			return here, nil
		}
		n, err := read(name)
		if err != nil {
			return nil, err
		}
		next, err := j.next(n, read)
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

// AfterProblems are what is wrong with what an ApplicationSet comes after, by what is known without a read: whoever
// writes the annotation is told. The ApplicationSet need not exist yet.
func AfterProblems(parser *settings.Parser, known KnownSets, set *argocd.ApplicationSet) (problems []settings.Problem) {
	j := &Judge{Parser: parser}
	w := waiter{set: types.NamespacedName{Namespace: set.Namespace, Name: set.Name}}
	read := func(name types.NamespacedName) (Named, error) { return NamedKnown(known, name), nil }
	for _, name := range parser.Of(set).After.Names {
		n, _ := read(name)
		way, _ := j.way(w, name, read)
		switch {
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

// next are the names after which something of a name comes.
func (j *Judge) next(n Named, read reading) ([]types.NamespacedName, error) {
	var after settings.After
	if n.Set != nil {
		after = j.Parser.Of(n.Set).After
	}
	for _, p := range n.Members {
		own, _ := j.Parser.OfApplication(p.Namespace, p.Annotations)
		after = after.And(own)
	}
	if p := n.Own; p != nil {
		own, _ := j.Parser.OfApplication(p.Namespace, p.Annotations)
		after = after.And(own)
		if p.Set != "" {
			owner, err := read(types.NamespacedName{Namespace: p.Namespace, Name: p.Set})
			if err != nil {
				return nil, err
			}
			if owner.Set != nil {
				after = after.And(j.Parser.Of(owner.Set).After)
			}
		}
	}
	return after.Names, nil
}
