// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stepgate/stepgate/cmd/presence"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/record"
)

// selectors says whom the selectors of a webhook leave out.
func (r *Registration) selectors(f *Facts, of *Installation) Check {
	const name = "selectors"
	if s := r.Webhook.ObjectSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return warning(name, "The objectSelector %q takes Applications out by a label, which anybody may change who may "+
			"edit them.", metav1.FormatLabelSelector(s)).
			do("Remove webhook.objectSelector, unless it is meant.").by(of.upgrade("webhook.objectSelector=null"))
	}
	if !r.honoursSwitch() {
		return warning(name, "The namespaceSelector lacks %s: the emergency switch does nothing.",
			record.IgnoreLabel).do("Install the chart again.").by(of.upgrade())
	}
	selector, err := metav1.LabelSelectorAsSelector(r.Webhook.NamespaceSelector)
	if err != nil {
		return problem(name, "The namespaceSelector is not valid: %s.", err).
			do("Install the chart again.").by(of.upgrade())
	}
	if f.Namespaces.Err != nil {
		return notRead(name, "the namespaces", f.Namespaces.Err)
	}
	if f.ApplicationSets.Err != nil {
		return notRead(name, "the ApplicationSets", f.ApplicationSets.Err)
	}
	left := f.leftOut(of, selector)
	switch {
	case len(left) > 0 && of.Flags == nil:
		return of.unsettled(name)
	case len(left) > 0:
		return problem(name, "The namespaceSelector leaves out namespace %s, where stepgate should gate ApplicationSets: "+
			"nothing is gated there.", list(left)).
			do("Install the chart again, and look at webhook.namespaceSelector.",
				fmt.Sprintf("kubectl get %s %s -o yaml", r.resource(), r.Name)).by(of.upgrade())
	}
	return ok(name, "They leave out no gated namespace.")
}

// honoursSwitch reports whether the label of the emergency switch takes a namespace out.
func (r *Registration) honoursSwitch() bool {
	s := r.Webhook.NamespaceSelector
	return s != nil && slices.ContainsFunc(s.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
		return e.Key == record.IgnoreLabel && (e.Operator == metav1.LabelSelectorOpDoesNotExist ||
			e.Operator == metav1.LabelSelectorOpNotIn && slices.Contains(e.Values, record.IgnoreValue))
	})
}

// leftOut are the namespaces with an order that a release should gate and a selector does not select, except by the
// emergency switch, of which another check tells.
func (f *Facts) leftOut(of *Installation, selector labels.Selector) []string {
	var left []string
	for _, n := range f.Namespaces.Value {
		set := labels.Set{}
		for key, value := range n.Labels {
			if key != record.IgnoreLabel {
				set[key] = value
			}
		}
		if of.gated(n.Name) && f.hasOrder(n.Name) && !selector.Matches(set) {
			left = append(left, n.Name)
		}
	}
	return left
}

// isRollingSync mirrors IsRollingSyncStrategy of argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go.
func isRollingSync(set *argo.ApplicationSet) bool {
	s := set.Spec.Strategy
	return s != nil && s.Type == "RollingSync" && s.RollingSync != nil && len(s.RollingSync.Steps) > 0
}

// isOrdered reports whether an ApplicationSet asks for an order, by RollingSync or by sync waves.
func isOrdered(set *argo.ApplicationSet) bool { return argocd.NewApplicationSet(set).Ordered() }

// orderedSets are what has an order in the cluster, for people.
func (f *Facts) orderedSets() string {
	if len(f.orderingParents()) > 0 {
		return "ApplicationSets or parent Applications with an order"
	}
	if slices.ContainsFunc(f.ApplicationSets.Value, func(s argo.ApplicationSet) bool {
		return isOrdered(&s) && !isRollingSync(&s)
	}) {
		return "ApplicationSets with RollingSync or waves"
	}
	return "RollingSync ApplicationSets"
}

func (f *Facts) hasOrder(namespace string) bool {
	return slices.Contains(f.orderedNamespaces(), namespace)
}

// orderedNamespaces are the namespaces that have ApplicationSets, or parents, with an order.
func (f *Facts) orderedNamespaces() []string {
	var names []string
	for _, p := range f.orderingParents() {
		names = append(names, p.Namespace)
	}
	for i := range f.ApplicationSets.Value {
		if s := &f.ApplicationSets.Value[i]; isOrdered(s) {
			names = append(names, s.Namespace)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ignored reports whether the emergency switch of a namespace is on. A namespace that could not be read has none.
func (f *Facts) ignored(namespace string) bool {
	return slices.ContainsFunc(f.Namespaces.Value, func(n corev1.Namespace) bool {
		return presence.SwitchedOff(n.Labels) && n.Name == namespace
	})
}

// subject is the installation, for people.
func (r *Installation) subject() string {
	text := "Release " + r.helm()
	if r.Namespace != "" {
		text += ", namespace " + r.Namespace
	}
	if r.Name != r.helm() {
		text += ", objects " + r.Name
	}
	if r.Flags != nil {
		text += ", " + strings.ToLower(r.Flags.Gate.Mode.String()) + " mode"
	}
	return text
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
