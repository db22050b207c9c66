// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/settings"
)

// AddLive adds a live ApplicationSet. Its Applications come with AddLiveApplication.
func (in *Input) AddLive(set *argo.ApplicationSet) {
	in.live = true
	in.Subjects = append(in.Subjects, &Subject{Set: set, Live: true})
}

// AddLiveApplication keeps of a live Application what its step and its order depend on.
func (in *Input) AddLiveApplication(a *argo.Application) {
	in.live = true
	in.applications = append(in.applications, ownedApplication(&a.ObjectMeta))
}

// WithoutApplications says why there are no live Applications. The ApplicationSets are then checked by their
// generators.
func (in *Input) WithoutApplications(why string) {
	in.applications = nil
	for _, s := range in.Subjects {
		s.hidden = why
	}
}

func ownedApplication(meta *metav1.ObjectMeta) owned {
	o := owned{
		Application: Application{
			Name: meta.Name, Labels: meta.Labels, After: meta.Annotations[settings.AfterAnnotation],
			Wave: meta.Annotations[syncWave],
		}, namespace: meta.Namespace, orphan: len(meta.OwnerReferences) == 0, declares: declares(meta),
	}
	o.parent, o.tracked = parentOf(meta)
	if label := meta.Labels[common.LabelKeyAppInstance]; o.tracked && label != o.parent {
		o.rival = label
	}
	if owner := metav1.GetControllerOf(meta); owner != nil && owner.Kind == "ApplicationSet" {
		o.owner = owner
	}
	return o
}

// Link gives every ApplicationSet its Applications: those that it controls, and, to the only ApplicationSet of files,
// those that nobody owns, as argocd appset generate prints them. An Application that comes after others by itself, or
// that has waves, is looked at by itself. It counts the others.
func (in *Input) Link() {
	in.take()
	byName := map[string][]*Subject{}
	for _, s := range in.Subjects {
		byName[s.Set.Name] = append(byName[s.Set.Name], s)
	}
	parents, rivals := in.parents()
	children := map[int][]Application{}
	for i := range in.applications {
		if parent, is := parents[i]; is {
			children[parent] = append(children[parent], in.applications[i].Application)
		}
	}
	var alone []*Subject
	for i, a := range in.applications {
		if s := in.ownerOf(a, byName); s != nil {
			s.Applications, s.Known = append(s.Applications, a.Application), true
			continue
		}
		if a.owner == nil && !in.Partial {
			lineage := in.lineage(i, parents, rivals)
			if a.After != "" || a.declares != nil || len(lineage) > 0 {
				s := a.subject(in.live)
				s.children, s.lineage = children[i], lineage
				alone = append(alone, s)
				continue
			}
		}
		in.others = append(in.others, types.NamespacedName{Namespace: a.namespace, Name: a.Name})
		if !in.live {
			in.Other++
		}
	}
	in.applications = nil
	for _, s := range in.Subjects {
		// A live ApplicationSet that has no Applications yet is checked by its generators.
		s.Known = len(s.Applications) > 0
	}
	in.Subjects = append(in.Subjects, alone...)
}

// gives reports whether its Applications may have an annotation from a template.
func (s *Subject) gives(annotation string) bool {
	patch := s.Set.Spec.TemplatePatch
	return patch != nil && strings.Contains(*patch, annotation) ||
		slices.ContainsFunc((&checker{Subject: s}).templates(), func(t placed) bool {
			return t.template.Annotations[annotation] != ""
		})
}

// subject is an Application that no ApplicationSet controls.
func (a *owned) subject(live bool) *Subject {
	annotations := a.declares
	if annotations == nil && a.After != "" {
		annotations = map[string]string{settings.AfterAnnotation: a.After}
	}
	return &Subject{
		Set: &argo.ApplicationSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.Name, Annotations: annotations},
		},
		Live: live, File: a.file, Document: a.document, node: a.node, alone: true,
	}
}

func (in *Input) ownerOf(a owned, byName map[string][]*Subject) *Subject {
	if a.orphan && len(in.Subjects) == 1 && !in.Subjects[0].Live {
		only := in.Subjects[0]
		if (a.After == "" || only.gives(settings.AfterAnnotation)) &&
			(a.declares == nil || only.gives(settings.WavesAnnotation)) {
			return only
		}
	}
	if a.owner == nil {
		return nil
	}
	for _, s := range byName[a.owner.Name] {
		sameNamespace := s.Set.Namespace == a.namespace || !s.Live && (s.Set.Namespace == "" || a.namespace == "")
		sameUID := s.Set.UID == a.owner.UID || !s.Live && (s.Set.UID == "" || a.owner.UID == "")
		if sameNamespace && sameUID {
			return s
		}
	}
	return nil
}

// Check checks every ApplicationSet, and then what comes after what.
func (in *Input) Check(options Options) *Report {
	checkers := make([]*checker, 0, len(in.Subjects))
	for _, s := range in.Subjects {
		checkers = append(checkers, check(s, options))
	}
	in.ordered(checkers)
	results := make([]Result, 0, len(checkers))
	for _, c := range checkers {
		results = append(results, c.sorted())
	}
	return NewReport(results, in.Failures, in.Other)
}
