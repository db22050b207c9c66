// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// defaultNamespace is that of objects in files that name none.
const defaultNamespace = "argocd"

// isParent reports whether an Application orders its children.
func isParent(app *argo.Application) bool {
	return argocd.NewApplicationSet(argocd.FormOfParent(app)).Waves
}

// parents are the Applications that order their children.
func (o *Objects) parents() (all []*argo.Application) {
	for _, app := range o.Applications {
		if isParent(app) {
			all = append(all, app)
		}
	}
	return all
}

// family are a parent and its children.
type family struct {
	*Objects
	parent *argo.Application
	// adopts says that whoever has no owner and no tracking yet is a child, and untracked are the names of those.
	adopts    bool
	untracked []string
	rollout   *Rollout
}

// ofParent takes a parent and its children: those that Argo CD tracks as its. In git nothing is tracked yet; where files
// have only one parent, what says nothing of its owner is taken for its child.
func (o *Objects) ofParent(parent *argo.Application) (*Rollout, error) {
	if !isParent(parent) {
		return nil, fmt.Errorf("the Application %s does not order its children: set its annotation %s: \"true\"", parent.Name,
			settings.WavesAnnotation)
	}
	in := parent.DeepCopy()
	in.Namespace = cmp.Or(in.Namespace, defaultNamespace)
	f := &family{
		Objects: o, parent: in, adopts: len(o.parents()) == 1,
		rollout: &Rollout{Set: argocd.FormOfParent(in)},
	}
	for _, app := range o.Applications {
		if app == parent || metav1.GetControllerOf(app) != nil || cmp.Or(app.Namespace, defaultNamespace) != in.Namespace {
			continue
		}
		_, set := argocd.Tracking{}.OwnerOf(located(app, in.Namespace))
		if f.has(app.Name, app, set.Name) {
			f.rollout.Applications = append(f.rollout.Applications, app)
		}
	}
	for _, set := range o.Sets {
		if err := f.lends(set); err != nil {
			return nil, err
		}
	}
	if missing := f.missing(); len(missing) > 0 {
		f.rollout.note(fmt.Sprintf("Left out, as %s has yet to create %s: %s.", in.Name,
			plural(len(missing) > 1, "it", "them"), list(missing, namedInLine)))
	}
	if away := f.elsewhere(); len(away) > 0 {
		f.rollout.note(fmt.Sprintf("Left out, as only what is in namespace %s is played: %s.", in.Namespace,
			list(away, namedInLine)))
	}
	if n := len(f.untracked); n > 0 {
		text := fmt.Sprintf("The files do not say whose %s %s %s", plural(n > 1, "child", "children"),
			list(f.untracked, namedInLine), plural(n > 1, "is", "are"))
		if f.adopts {
			f.rollout.note(fmt.Sprintf("%s: played as %s of Application %s, the only one with %s.", text,
				plural(n > 1, "a child", "children"), in.Name, settings.WavesAnnotation))
		} else {
			f.rollout.note(fmt.Sprintf("%s, and have several parents: left out.", text))
		}
	}
	return f.rollout, f.rollout.check()
}

// missing are the children that the parent has yet to create.
func (f *family) missing() (all []string) {
	for name := range argocd.NewProjection(f.parent).Waves.Recorded {
		if !slices.ContainsFunc(f.rollout.Applications, func(a *argo.Application) bool { return a.Name == name }) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// elsewhere are the children that the parent deploys into other namespaces.
func (f *family) elsewhere() []string {
	by := argocd.Tracking{Home: f.parent.Namespace}
	return slices.Sorted(maps.Keys(by.Projection(f.parent).Waves.Elsewhere))
}

// has reports whether the parent has a child, which is of the order named set by its tracking.
func (f *family) has(name string, object metav1.Object, set string) bool {
	if set == policy.NameOfParent(f.parent.Name) {
		return true
	}
	if set != "" || object.GetAnnotations()[common.AnnotationKeyAppInstance] != "" {
		return false
	}
	f.untracked = append(f.untracked, name)
	return f.adopts
}

// lends adds the Applications of an ApplicationSet that is a child, with the wave of that in place of their own.
func (f *family) lends(set *argo.ApplicationSet) error {
	if cmp.Or(set.Namespace, defaultNamespace) != f.parent.Namespace {
		return nil
	}
	of, parent := argocd.NewApplicationSet(located(set, f.parent.Namespace)), ""
	if of.Child != nil {
		parent = of.Child.Set
	}
	switch {
	case of.Ordered():
		if parent == policy.NameOfParent(f.parent.Name) {
			f.rollout.note(fmt.Sprintf("ApplicationSet %s has an order of its own: it is not played here.", set.Name))
		}
		return nil
	case !f.has(set.Name, set, parent):
		return nil
	}
	own := f.of(set, false)
	if len(own) == 0 {
		var err error
		if own, err = rendered(set); err != nil {
			return fmt.Errorf("ApplicationSet %s, a child of %s: %w", set.Name, f.parent.Name, err)
		}
		f.rollout.Rendered = true
	}
	for _, app := range own {
		lent := app.DeepCopy()
		if lent.Annotations == nil {
			lent.Annotations = map[string]string{}
		}
		lent.Annotations[synccommon.AnnotationSyncWave] = set.Annotations[synccommon.AnnotationSyncWave]
		f.rollout.Applications = append(f.rollout.Applications, lent)
	}
	return nil
}

// located is an object in its namespace, which files may leave out.
func located[O interface {
	DeepCopy() O
	SetNamespace(namespace string)
}](object O, namespace string) O {
	object = object.DeepCopy()
	object.SetNamespace(namespace)
	return object
}

// parent is the Application that gives the order; empty if an ApplicationSet does.
func (r *Rollout) parent() string {
	if application, is := policy.ParentNamed(r.Set.Name); is {
		return application
	}
	return ""
}

// called is what people call what gives the order.
func (r *Rollout) called() string {
	if parent := r.parent(); parent != "" {
		return "Application " + parent
	}
	return "ApplicationSet " + r.Set.Name
}

// note says something of what is played, once.
func (r *Rollout) note(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// childless is the error for a parent without children.
func (r *Rollout) childless() error {
	const text = "the parent %[1]s has no children to play: give their files with -f, beside its own; or play it from " +
		"the cluster: stepgate simulate %[1]s -n %[2]s. Its children are those that Argo CD tracks as its, by the " +
		"annotation %[3]s or the label %[4]s"
	err := fmt.Errorf(text, r.parent(), r.Set.Namespace, common.AnnotationKeyAppInstance, common.LabelKeyAppInstance)
	if len(r.notes) > 0 {
		err = fmt.Errorf("%w. %s", err, strings.TrimSuffix(strings.Join(r.notes, " "), "."))
	}
	return err
}

// order finds what gives the order that is played: the ApplicationSet of a name, or, where there is none, the Application;
// without a name, the only one.
func (o *Objects) order(name string) (set *argo.ApplicationSet, parent *argo.Application, err error) {
	var names []string
	for _, s := range o.Sets {
		if s.Name == name {
			return s, nil, nil
		}
	}
	for _, app := range o.Applications {
		if app.Name == name && name != "" {
			return nil, app, nil
		}
	}
	parents, sets := o.parents(), o.Sets
	if len(parents) > 0 && name == "" { // what has no order of its own may be a child
		sets = slices.DeleteFunc(slices.Clone(sets), func(s *argo.ApplicationSet) bool {
			return !argocd.NewApplicationSet(s).Ordered()
		})
	}
	for _, s := range sets {
		names = append(names, s.Name)
	}
	for _, app := range parents {
		names = append(names, "Application "+app.Name)
	}
	switch {
	case len(names) == 0 && len(o.Applications) > 0:
		return nil, nil, fmt.Errorf("the files have no ApplicationSet, and no Application with the annotation %s: \"true\", "+
			"whose children have an order; give the file of one with -f", settings.WavesAnnotation)
	case len(names) == 0:
		return nil, nil, errors.New(o.Nothing())
	case name != "":
		return nil, nil, fmt.Errorf("the files have no ApplicationSet %s, but %s", name, strings.Join(names, ", "))
	case len(names) > 1 && len(parents) > 0:
		return nil, nil, fmt.Errorf("the files have several orders: %s; name the one to play: stepgate simulate -f FILE NAME",
			strings.Join(names, ", "))
	case len(names) > 1:
		return nil, nil, fmt.Errorf(
			"the files have several ApplicationSets: %s; name the one to play: stepgate simulate -f FILE NAME",
			strings.Join(names, ", "),
		)
	case len(parents) == 1:
		return nil, parents[0], nil
	}
	return sets[0], nil, nil
}
