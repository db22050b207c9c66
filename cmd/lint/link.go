package lint

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddLive adds a live ApplicationSet. Its Applications come with AddLiveApplication.
func (in *Input) AddLive(set *argo.ApplicationSet) {
	in.live = true
	in.Subjects = append(in.Subjects, &Subject{Set: set, Live: true})
}

// AddLiveApplication keeps of a live Application what its step depends on, if an ApplicationSet controls it.
func (in *Input) AddLiveApplication(a *argo.Application) {
	if owned := ownedApplication(&a.ObjectMeta); owned.owner != nil {
		in.applications = append(in.applications, owned)
	}
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
		Application: Application{Name: meta.Name, Labels: meta.Labels}, namespace: meta.Namespace,
		orphan: len(meta.OwnerReferences) == 0,
	}
	if owner := metav1.GetControllerOf(meta); owner != nil && owner.Kind == "ApplicationSet" {
		o.owner = owner
	}
	return o
}

// Link gives every ApplicationSet its Applications: those that it controls, and, to the only ApplicationSet of files,
// those that nobody owns, as argocd appset generate prints them. It counts the others.
func (in *Input) Link() {
	byName := map[string][]*Subject{}
	for _, s := range in.Subjects {
		byName[s.Set.Name] = append(byName[s.Set.Name], s)
	}
	for _, a := range in.applications {
		if s := in.ownerOf(a, byName); s != nil {
			s.Applications, s.Known = append(s.Applications, a.Application), true
		} else if !in.live {
			in.Other++
		}
	}
	in.applications = nil
	for _, s := range in.Subjects {
		// A live ApplicationSet that has no Applications yet is checked by its generators.
		s.Known = len(s.Applications) > 0
	}
}

func (in *Input) ownerOf(a owned, byName map[string][]*Subject) *Subject {
	if a.orphan && len(in.Subjects) == 1 && !in.Subjects[0].Live {
		return in.Subjects[0]
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

// Check checks every ApplicationSet.
func (in *Input) Check(options Options) *Report {
	results := make([]Result, 0, len(in.Subjects))
	for _, s := range in.Subjects {
		results = append(results, Check(s, options))
	}
	return NewReport(results, in.Failures, in.Other)
}
