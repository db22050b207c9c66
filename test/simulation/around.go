package simulation

import (
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

const (
	// noneAround is the first state of the series around: nothing is around the sources.
	noneAround = "i0"
	// aroundLabel is the label of the namespace that has the state.
	aroundLabel = "around"
)

// putAround gives a specification what the series around says: differences to ignore in one state, and labels of the namespace in the next.
func putAround(spec *argo.ApplicationSpec, around string) {
	switch {
	case around == noneAround:
	case strings.ContainsAny(around[len(around)-1:], "13579"):
		spec.IgnoreDifferences = argo.IgnoreDifferences{{Kind: "Deployment", Name: around, JSONPointers: []string{"/spec/replicas"}}}
	default:
		policy := argo.SyncPolicy{}
		if spec.SyncPolicy != nil {
			policy = *spec.SyncPolicy
		}
		policy.SyncOptions = argo.SyncOptions{"CreateNamespace=true"}
		policy.ManagedNamespaceMetadata = &argo.ManagedNamespaceMetadata{Labels: map[string]string{aroundLabel: around}}
		spec.SyncPolicy = &policy
	}
}

// aroundOf is the state of the series around that a specification has.
func aroundOf(spec *argo.ApplicationSpec) string {
	if len(spec.IgnoreDifferences) > 0 {
		return spec.IgnoreDifferences[0].Name
	}
	if m := namespaceMetadata(spec); m != nil {
		return m.Labels[aroundLabel]
	}
	return noneAround
}

// namespaceMetadata is the managedNamespaceMetadata of a specification; nil for none.
func namespaceMetadata(spec *argo.ApplicationSpec) *argo.ManagedNamespaceMetadata {
	if spec.SyncPolicy == nil {
		return nil
	}
	return spec.SyncPolicy.ManagedNamespaceMetadata
}

// withParameter is a specification with another parameter of its own.
func withParameter(spec argo.ApplicationSpec, parameter string) argo.ApplicationSpec {
	next := *spec.DeepCopy()
	if len(next.Sources) > 0 {
		next.Sources[0].Helm.ReleaseName = parameter
	} else {
		next.Source.Helm.ReleaseName = parameter
	}
	return next
}

// updateImage is an image updater that writes a parameter into one Application. The ApplicationSet ignores that difference (ignoreApplicationDifferences).
func (w *world) updateImage(m *member) {
	app := w.api.apps[m.name]
	if app == nil || app.DeletionTimestamp != nil || m.generated == 0 || m.sources[0].dry != nil {
		return
	}
	m.imaged, m.specified = true, w.now
	m.parameter.change(w.now)
	w.api.edit(m.name, func(app *argo.Application) { app.Spec = withParameter(app.Spec, m.parameter.last()) })
}

// keepsImage is what the ApplicationSet controller wants of an Application, with what an image updater has written into it.
func (m *member) keepsImage(want argo.ApplicationSpec, live *argo.ApplicationSpec) argo.ApplicationSpec {
	if !m.imaged {
		return want
	}
	return withParameter(want, live.GetSources()[0].Helm.ReleaseName)
}

// dryDiffers reports whether an Application was last hydrated from another source than it specifies.
func (b *branch) dryDiffers(spec *argo.ApplicationSpec) bool {
	return b.states[b.head()].values != spec.SourceHydrator.DrySource.Helm.Values
}
