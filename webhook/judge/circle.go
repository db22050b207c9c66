// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Follower is what comes after others: an ApplicationSet, an Application of it, or one that no ApplicationSet controls.
type Follower struct {
	// name is that of the Application, and set that of the ApplicationSet; without a name where there is none.
	name, set types.NamespacedName
}

// FollowerOf is an Application of an ApplicationSet. Without a name, it is the ApplicationSet itself.
func FollowerOf(set *argocd.ApplicationSet, application string) Follower {
	return Follower{
		name: argocd.ObjectName(types.NamespacedName{Namespace: set.Namespace, Name: application}),
		set:  types.NamespacedName{Namespace: set.Namespace, Name: set.Name},
	}
}

// Circle is the way from a follower by a name back to itself, by what is known without a read: "a > b > a". It is empty
// if none is known. Nothing waits for itself, so an Application that names itself is in no circle, and neither is a
// child that names its parent.
func (f Follower) Circle(parser *settings.Parser, known KnownSets, name types.NamespacedName) string {
	if name == f.name && name != f.set || name == f.parent() && f.name.Name != "" {
		return ""
	}
	seen := map[types.NamespacedName]bool{}
	var walk func(name types.NamespacedName) []string
	walk = func(name types.NamespacedName) []string {
		if seen[name] || len(seen) == mostOnTheWay {
			return nil
		}
		seen[name] = true
		n, here := NamedKnown(known, name), []string{strings.TrimPrefix(name.String(), f.set.Namespace+"/")}
		if f.is(name) || len(seen) > 1 && f.controls(n.Own) {
			return here
		}
		for _, next := range nextAfter(parser, known, n) {
			if rest := walk(next); rest != nil {
				return append(here, rest...)
			}
		}
		return nil
	}
	way := walk(name)
	if way == nil {
		return ""
	}
	return way[len(way)-1] + " > " + strings.Join(way, " > ")
}

// is reports whether a name is of the follower.
func (f Follower) is(name types.NamespacedName) bool {
	return name == f.name || name == f.set || name == f.parent()
}

// parent is the parent Application whose order the follower is of; empty if it is of no such.
func (f Follower) parent() (name types.NamespacedName) {
	if parent, is := policy.ParentNamed(f.set.Name); is {
		name = types.NamespacedName{Namespace: f.set.Namespace, Name: parent}
	}
	return name
}

// controls reports whether the follower is the ApplicationSet of an Application: what waits for one of its Applications
// waits for what that comes after.
func (f Follower) controls(p *argocd.Projection) bool {
	return f.name.Name == "" && p != nil && p.Key() == f.set
}

// mostOnTheWay bounds the names that are looked at for a circle.
const mostOnTheWay = 100

// nextAfter are the names after which something of a name comes.
func nextAfter(parser *settings.Parser, known KnownSets, n Named) []types.NamespacedName {
	var next settings.After
	if n.Set != nil {
		next = before(parser, n.Set, n.Members...)
	}
	if n.Own != nil {
		owner := argocd.Alone(n.Own.Namespace, n.Own.UID, n.Own.Annotations)
		m := n.Own.Member()
		if of, _ := known.Set(types.NamespacedName{Namespace: m.Namespace, Name: m.Set}); of != nil {
			owner = of
		}
		next = next.And(before(parser, owner, n.Own))
	}
	return next.Names
}

// before is what comes before an ApplicationSet, and before Applications of it.
func before(parser *settings.Parser, set *argocd.ApplicationSet, apps ...*argocd.Projection) settings.After {
	all := parser.Of(set).After
	for _, p := range apps {
		own, _ := parser.OfApplication(p.Object().Namespace, p.Annotations)
		all = all.And(own)
	}
	return all
}

// AfterProblems are what is wrong with the names that a follower comes after, by what is known without a read: whoever
// writes the annotation is told. The follower need not exist yet.
func AfterProblems(
	parser *settings.Parser, known KnownSets, follower Follower, after settings.After,
) (problems []settings.Problem) {
	for _, name := range after.Names {
		n, circle := NamedKnown(known, name), follower.Circle(parser, known, name)
		text := ""
		switch {
		case circle != "":
			text = "a circle (" + circle + "): each waits until the others are done; take a name out"
		case n.Set == nil && n.Own == nil:
			text = "waiting for " + name.String() + ", which does not exist: nothing starts until it does"
		default:
			continue
		}
		problems = append(problems, settings.Problem{Annotation: settings.AfterAnnotation, Text: policy.ClientText(text)})
	}
	return problems
}
