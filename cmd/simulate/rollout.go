// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocks "k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Rollout is an ApplicationSet and its Applications, or a parent and its children.
type Rollout struct {
	// Set of a parent is argocd.FormOfParent.
	Set *argo.ApplicationSet
	// Applications are sorted by name.
	Applications []*argo.Application
	// Rendered says that they come from the generators of the ApplicationSet.
	Rendered bool
	// Dropped are the fields that are meant for the strategy, and that the API server drops.
	Dropped []string
	// notes say what is played otherwise than it is given.
	notes []string
}

// howToGive says how somebody gets the Applications that cannot be known offline.
const howToGive = "give them with -f APPS.yaml: argocd appset generate APPSET.yaml -o yaml > APPS.yaml writes them, " +
	"or kubectl get applications -n argocd -o yaml; or play it from the cluster: stepgate simulate APPSET"

// Rollout takes the ApplicationSet of this name, or the only one, and its Applications. Where the files have none, they
// are rendered. Where no ApplicationSet has the name, it takes the parent of this name and its children.
func (o *Objects) Rollout(name string) (*Rollout, error) {
	set, parent, err := o.order(name)
	if err != nil {
		return nil, err
	}
	if parent != nil {
		return o.ofParent(parent)
	}
	order := argocd.NewApplicationSet(set)
	if !order.Ordered() {
		return nil, fmt.Errorf(
			"ApplicationSet %s has no steps: Argo CD keeps no order; set "+
				"spec.strategy.type: RollingSync and spec.strategy.rollingSync.steps%s", set.Name, o.hint(set),
		)
	}
	if p := set.Spec.SyncPolicy; order.CreatesOnly && !order.Waves {
		return nil, fmt.Errorf("ApplicationSet %s: with applicationsSync %s the ApplicationSet controller starts no sync, "+
			"and there is nothing to play; use sync or create-update", set.Name, *p.ApplicationsSync)
	}
	r := &Rollout{Set: set, Dropped: o.dropped[set]}
	r.Applications = o.of(set, len(o.parents()) == 0)
	if len(r.Applications) == 0 && (len(o.Applications) == 0 || len(o.parents()) > 0) {
		r.Rendered = true
		if r.Applications, err = rendered(set); err != nil {
			return nil, fmt.Errorf("ApplicationSet %s: %w", set.Name, err)
		}
	}
	return r, r.check()
}

// of are the Applications of an ApplicationSet; those that nothing owns are, if alone.
func (o *Objects) of(set *argo.ApplicationSet, alone bool) (all []*argo.Application) {
	for _, app := range o.Applications {
		owner := metav1.GetControllerOf(app)
		if owner == nil && alone || owner != nil && owner.Kind == "ApplicationSet" && owner.Name == set.Name {
			all = append(all, app)
		}
	}
	return all
}

// hint names the fields that look like a strategy, and are none, or what gives an order without one.
func (o *Objects) hint(set *argo.ApplicationSet) string {
	if fields := o.dropped[set]; len(fields) > 0 {
		return fmt.Sprintf(" (the API server drops %s; stepgate lint says what to write)", strings.Join(fields, ", "))
	}
	return fmt.Sprintf(", or the annotation %s: \"true\" for that of sync waves", settings.WavesAnnotation)
}

// check refuses what cannot be played, and sorts the Applications.
func (r *Rollout) check() error {
	kind, name, _ := strings.Cut(r.called(), " ")
	if problem := render.NameProblem(name); problem != "" {
		return fmt.Errorf("the name %q of the %s is not valid: %s", name, kind, problem)
	}
	switch {
	case len(r.Applications) == 0 && r.parent() != "":
		return r.childless()
	case len(r.Applications) == 0:
		return fmt.Errorf("ApplicationSet %s has no Applications to play; %s", r.Set.Name, howToGive)
	}
	slices.SortFunc(r.Applications, func(a, b *argo.Application) int { return strings.Compare(a.Name, b.Name) })
	for i, app := range r.Applications[1:] {
		if app.Name == r.Applications[i].Name {
			if r.parent() != "" {
				return fmt.Errorf("there are two Applications %s; give each child once", app.Name)
			}
			return fmt.Errorf("there are two Applications %s; Argo CD refuses an ApplicationSet that generates a name twice",
				app.Name)
		}
	}
	for _, app := range r.Applications {
		if problem := render.NameProblem(app.Name); problem != "" {
			return fmt.Errorf("the name %q of an Application is not valid: %s", app.Name, problem)
		}
	}
	return nil
}

// settings reads the annotations of the ApplicationSet as a stepgate with its default flags does.
func (r *Rollout) settings() settings.Settings {
	config := settings.Config{Expressions: expression.NewCompiler(expression.AnyKind)}
	return settings.NewParser(config, clocks.RealClock{}).Of(argocd.NewApplicationSet(r.Set))
}

// mode is the mode of stepgate for the ApplicationSet: its annotation overrides the mode of the installation. Where
// there is no stepgate, it has no effect.
func (r *Rollout) mode(installation settings.Mode) settings.Mode {
	text, annotated := r.Set.Annotations[settings.ModeAnnotation]
	if !annotated || installation == settings.Off {
		return installation
	}
	mode, _ := settings.ParseMode(text) // anything else is enforce
	return mode
}
