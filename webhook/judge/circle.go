package judge

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// reading reads what there is of a name.
type reading func(name types.NamespacedName) (Named, error)

// knownOf gives what is known of a name without a read.
func knownOf(known KnownSets) reading {
	return func(name types.NamespacedName) (Named, error) { return NamedKnown(known, name), nil }
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
func (f Follower) Circle(parser *settings.Parser, known KnownSets, from types.NamespacedName) (way []string) {
	way, _ = f.way(parser, from, knownOf(known))
	return way
}

// circle is the way from a name back to the waiter, by what these come after; nil if there is none. It is looked for in
// what is known first: only where there seems to be one, it is read.
func (j *Judge) circle(w waiter, from types.NamespacedName, read reading) (way []string, err error) {
	if j.Known != nil && w.Circle(j.Parser, j.Known, from) == nil {
		return nil, nil
	}
	return w.way(j.Parser, from, read)
}

// mostOnTheWay bounds the names that are looked at for a circle.
const mostOnTheWay = 100

func (f Follower) way(parser *settings.Parser, from types.NamespacedName, read reading) ([]string, error) {
	seen := map[types.NamespacedName]bool{}
	var walk func(name types.NamespacedName) ([]string, error)
	walk = func(name types.NamespacedName) ([]string, error) {
		if seen[name] || len(seen) == mostOnTheWay {
			return nil, nil
		}
		seen[name] = true
		here := []string{name.String()}
		if name == f.name || name == f.set {
			return here, nil
		}
		next, err := nextAfter(parser, name, read)
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
func nextAfter(parser *settings.Parser, name types.NamespacedName, read reading) ([]types.NamespacedName, error) {
	n, err := read(name)
	if err != nil {
		return nil, err
	}
	var after settings.After
	apps := n.Members
	if n.Set != nil {
		after = parser.Of(n.Set).After
	}
	if n.Own != nil {
		apps = append(apps[:len(apps):len(apps)], n.Own)
	}
	for _, p := range apps {
		own, _ := parser.OfApplication(p.Namespace, p.Annotations)
		after = after.And(own)
	}
	if n.Own != nil && n.Own.Set != "" {
		owner, err := read(n.Own.Key())
		if err != nil {
			return nil, err
		}
		if owner.Set != nil {
			after = after.And(parser.Of(owner.Set).After)
		}
	}
	return after.Names, nil
}

// AfterProblems are what is wrong with what an ApplicationSet comes after, by what is known without a read: whoever
// writes the annotation is told. The ApplicationSet need not exist yet.
func AfterProblems(parser *settings.Parser, known KnownSets, set *argocd.ApplicationSet) (problems []settings.Problem) {
	follower := FollowerOf(set, "")
	for _, name := range parser.Of(set).After.Names {
		n := NamedKnown(known, name)
		switch way := follower.Circle(parser, known, name); {
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
