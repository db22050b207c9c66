// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/argoproj/argo-cd/v3/common"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// lineage is something that is wrong with the parents of an Application.
type lineage struct {
	rule, message string
	path          Path
}

// trackingID is the annotation by which Argo CD marks what an Application has made:
// PARENT:argoproj.io/Application:NAMESPACE/NAME.
var trackingID = to("metadata", "annotations", common.AnnotationKeyAppInstance)

// parentOf is the Application that an Application is a part of by Argo CD's tracking, as argocd.OwnerOf goes by it, but
// in files an object may have no namespace. tracked says that an annotation says so: the label may be of something else. A
// copy of another Application's annotation says nothing.
func parentOf(meta *metav1.ObjectMeta) (name string, tracked bool) {
	id := meta.Annotations[common.AnnotationKeyAppInstance]
	if parts := strings.SplitN(id, ":", 3); len(parts) == 3 && parts[1] == "argoproj.io/Application" {
		namespace, self, _ := strings.Cut(parts[2], "/")
		if self == meta.Name && (meta.Namespace == "" || namespace == meta.Namespace) {
			return parts[0], true
		}
	}
	return meta.Labels[common.LabelKeyAppInstance], false
}

// parents are the parents of the Applications, by their index, and rivals others that have waves, and that only a label
// names. Those that are not there are left out. An Application may be a part of itself, which makes it nobody's child. Nobody
// says in which namespace Argo CD runs. So a name without a namespace means the Application of the child's namespace, or
// else the only one of the name.
func (in *Input) parents() (parents, rivals map[int]int) {
	byName, anywhere := map[types.NamespacedName]int{}, map[string][]string{}
	for i := range in.applications {
		a := &in.applications[i]
		byName[types.NamespacedName{Namespace: a.namespace, Name: a.Name}] = i
		anywhere[a.Name] = append(anywhere[a.Name], a.namespace)
	}
	find := func(i int, instance string) (parent int, is bool) {
		a := &in.applications[i]
		// As InstanceName of argo-cd v3.5.7, pkg/apis/application/v1alpha1: NAMESPACE_NAME, or the name alone.
		namespace, name, named := strings.Cut(instance, "_")
		if !named {
			namespace, name = a.namespace, instance
			if all := anywhere[name]; a.tracked && len(all) == 1 {
				namespace = all[0]
			}
		}
		parent, is = byName[types.NamespacedName{Namespace: namespace, Name: name}]
		return parent, is && a.owner == nil && parent != i
	}
	parents, rivals = map[int]int{}, map[int]int{}
	for i := range in.applications {
		if parent, is := find(i, in.applications[i].parent); is {
			parents[i] = parent
		}
		if rival, is := find(i, in.applications[i].rival); is && in.applications[rival].hasWaves() {
			rivals[i] = rival
		}
	}
	return parents, rivals
}

// hasWaves reports whether an Application gives its children an order.
func (o *owned) hasWaves() bool {
	text, has := o.declares[settings.WavesAnnotation]
	return has && strings.TrimSpace(text) != "false"
}

// lineage looks at the parents of an Application.
func (in *Input) lineage(i int, parents, rivals map[int]int) (found []lineage) {
	a := &in.applications[i]
	parent, is := parents[i]
	if rival, two := rivals[i]; is && two && rival != parent {
		found = append(found, lineage{
			"two-parents", fmt.Sprintf("It is a part of %s, and its label %s names %s, which has waves: "+
				"these do not count here.", short(in.applications[parent].Name), common.LabelKeyAppInstance,
				short(in.applications[rival].Name)), trackingID,
		})
	}
	if !is {
		self := a.parent == a.Name || a.parent == a.namespace+"_"+a.Name
		if in.live && a.tracked && a.parent != "" && !self {
			found = append(found, lineage{
				"parent-not-there", fmt.Sprintf("It is a part of Application %s, which is not known.", short(a.parent)),
				trackingID,
			})
		}
		return found
	}
	way := []string{in.applications[parent].Name}
	for len(way) <= len(parents) {
		if parent, is = parents[parent]; !is {
			return found
		}
		if way = append(way, in.applications[parent].Name); parent == i {
			return append(found, lineage{
				"parent-circle", fmt.Sprintf("It is a part of %s: a circle.",
					short2(strings.Join(way, ", which is a part of "))), trackingID,
			})
		}
	}
	return found // it is below a circle, and not in it
}

// declares are the annotations of stepgate of an Application that has waves, or a limit of them; nil if it has none.
func declares(meta *metav1.ObjectMeta) map[string]string {
	_, waves := meta.Annotations[settings.WavesAnnotation]
	_, limited := meta.Annotations[settings.MaxUpdateAnnotation]
	if !waves && !limited {
		return nil
	}
	all := map[string]string{}
	for name, text := range meta.Annotations {
		if strings.HasPrefix(name, annotationPrefix) {
			all[name] = text
		}
	}
	return all
}

// application looks at an Application that no ApplicationSet controls.
func (c *checker) application() {
	for _, l := range c.lineage {
		c.found(l.rule, l.path, l.message)
	}
	c.rule = argocd.NewApplicationSet(c.Set)
	at := to("metadata", "annotations")
	_, limited := c.Set.Annotations[settings.MaxUpdateAnnotation]
	switch {
	case c.rule.Waves:
		c.result.ByWaves = true
		c.checkWaves()
		c.annotations()
		if c.Live && len(c.children) == 0 {
			c.found("waves-without-children", at.and(settings.WavesAnnotation),
				"It has waves, and no known Application is a part of it.")
		}
	case limited:
		c.found("annotation-without-effect", at.and(settings.MaxUpdateAnnotation), fmt.Sprintf(
			"The annotation %s has no effect without %s: \"true\".", settings.MaxUpdateAnnotation, settings.WavesAnnotation))
	}
}
