package order

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Target is an Application of which the order is asked, or an ApplicationSet as a whole.
type Target struct {
	// Set is the ApplicationSet that controls the Application. An Application that none controls has the form of one
	// (argocd.Alone). Settings are what the annotations of Set say.
	Set      *argocd.ApplicationSet
	Settings settings.Settings
	// Name is the name of the Application, and Annotations are those of its own beside Set's; empty for all that Set
	// controls.
	Name        string
	Annotations argocd.Annotations
	// Live says that a write is judged: what declares an order has to be read live then. Otherwise it is only guessed
	// what a judgment would say, and what is known without a read is enough.
	Live bool
}

// Order is what comes before a target.
type Order struct {
	// Steps is the ApplicationSet in whose steps the target and its siblings have their places: policy.StepOf says in
	// which. Every sibling of an earlier step comes before the target, and has to complete what the target deploys. Nil
	// where nothing has steps.
	Steps *policy.ApplicationSet
	// Before are names of what comes before the target as well, in whatever step that is, each once. All of it has to be
	// done at what it was last compared with.
	Before []Name
	// Unreadable says why stepgate.io/after cannot be read. Then nothing starts until it is repaired.
	Unreadable string
	// Problems are what is wrong with a declaration.
	Problems []settings.Problem
	// Err says why a declaration could not be read. There is no decision then about a write that it may hold up.
	Err error
}

// Name is the name of an ApplicationSet or of an Application, or of one of each.
type Name struct {
	types.NamespacedName
	// Application says that it is that of an Application alone.
	Application bool
}

// Waits reports whether something comes before the target beside the earlier steps, or may.
func (o *Order) Waits() bool { return len(o.Before) > 0 || o.Unreadable != "" || o.Err != nil }

// And is both.
func (o Order) And(other Order) Order {
	both := Order{
		Steps: cmp.Or(o.Steps, other.Steps), Before: slices.Clone(o.Before),
		Unreadable: cmp.Or(o.Unreadable, other.Unreadable), Problems: slices.Concat(o.Problems, other.Problems),
		Err: cmp.Or(o.Err, other.Err),
	}
	for _, name := range other.Before {
		if !slices.Contains(both.Before, name) && !slices.Contains(both.Before, Name{NamespacedName: name.NamespacedName}) {
			both.Before = append(both.Before, name)
		}
	}
	return both
}

// Declarer is one way to declare an order.
type Declarer interface {
	// Order is what it declares about a target; the zero value if nothing.
	Order(ctx context.Context, t Target) Order
}

// Orders are all that declare an order in an installation.
type Orders struct {
	// Parser makes the Settings of targets.
	Parser    *settings.Parser
	declarers []Declarer
}

// New returns Orders of the steps of ApplicationSets, of stepgate.io/after, and of others.
func New(parser *settings.Parser, others ...Declarer) *Orders {
	return &Orders{Parser: parser, declarers: append([]Declarer{steps{}, after{parser}}, others...)}
}

// Of is what comes before a target, by all that declare it.
func (o *Orders) Of(ctx context.Context, t Target) (all Order) {
	for _, declarer := range o.declarers {
		all = all.And(declarer.Order(ctx, t))
	}
	return all
}

// steps are those of an ApplicationSet.
type steps struct{}

// Order implements Declarer.
func (steps) Order(_ context.Context, t Target) Order { return Order{Steps: &t.Set.ApplicationSet} }

// after is the annotation stepgate.io/after, of the ApplicationSet and of the Application.
type after struct{ parser *settings.Parser }

// Order implements Declarer.
func (a after) Order(_ context.Context, t Target) Order {
	own, problems := a.parser.OfApplication(t.Set.Namespace, t.Annotations)
	both := t.Settings.After.And(own)
	o := Order{Unreadable: both.Unreadable, Problems: problems}
	for _, name := range both.Names {
		o.Before = append(o.Before, Name{NamespacedName: name})
	}
	return o
}
