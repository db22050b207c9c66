// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/common"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// parentOf is the Application that an Application is a part of by Argo CD's tracking. tracked says that an annotation
// says so: the label may be of something else. A copy of another Application's annotation says nothing.
func parentOf(meta *metav1.ObjectMeta) (name string, tracked bool) {
	id, tracked := meta.Annotations[common.AnnotationKeyAppInstance]
	if !tracked {
		return meta.Labels[common.LabelKeyAppInstance], false
	}
	if parts := strings.SplitN(id, ":", 3); len(parts) == 3 && parts[1] == "argoproj.io/Application" {
		namespace, self, _ := strings.Cut(parts[2], "/")
		if self == meta.Name && (meta.Namespace == "" || namespace == meta.Namespace) {
			return parts[0], true
		}
	}
	return "", true
}

// parents are the parents of the Applications, by their index; those that are not there are left out. An Application
// may be a part of itself, which makes it nobody's child.
func (in *Input) parents() map[int]int {
	byName := map[string][]int{}
	for i := range in.applications {
		byName[in.applications[i].Name] = append(byName[in.applications[i].Name], i)
	}
	parents := map[int]int{}
	for i := range in.applications {
		a := &in.applications[i]
		// As InstanceName of argo-cd v3.5.7, pkg/apis/application/v1alpha1: NAMESPACE_NAME, or the name alone.
		namespace, name, named := strings.Cut(a.parent, "_")
		if !named {
			namespace, name = "", a.parent
		}
		found := slices.DeleteFunc(slices.Clone(byName[name]), func(j int) bool {
			return named && in.applications[j].namespace != namespace
		})
		same := slices.IndexFunc(found, func(j int) bool { return in.applications[j].namespace == a.namespace })
		if a.owner == nil && len(found) > 0 && found[max(same, 0)] != i {
			parents[i] = found[max(same, 0)]
		}
	}
	return parents
}

// lineage looks at the parents of an Application.
func (in *Input) lineage(i int, parents map[int]int) (found []lineage) {
	a := &in.applications[i]
	parent, is := parents[i]
	if !is {
		self := a.parent == a.Name || a.parent == a.namespace+"_"+a.Name
		if in.live && a.tracked && a.parent != "" && !self {
			found = append(found, lineage{
				"parent-elsewhere", fmt.Sprintf("It is a part of Application %s, which is not among what was read.",
					short(a.parent)), trackingID,
			})
		}
		return found
	}
	way := []string{in.applications[parent].Name}
	for len(way) <= len(parents) {
		if parent, is = parents[parent]; !is {
			return nil
		}
		if way = append(way, in.applications[parent].Name); parent == i {
			return []lineage{{
				"parent-circle", fmt.Sprintf("It is a part of %s: a circle.",
					short2(strings.Join(way, ", which is a part of "))), trackingID,
			}}
		}
	}
	return nil // it is below a circle, and not in it
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
