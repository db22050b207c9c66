// SPDX-License-Identifier: Apache-2.0

package simulation

import argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

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

// updateImage is an image updater that writes a parameter into one Application. The ApplicationSet ignores that
// difference (ignoreApplicationDifferences).
func (w *world) updateImage(m *member) {
	app := w.api.apps[m.name]
	if app == nil || app.DeletionTimestamp != nil || m.generated == 0 || m.sources[0].dry != nil {
		return
	}
	m.imaged, m.specified = true, w.now
	m.parameter.change(w.now)
	w.api.edit(m.name, func(app *argo.Application) {
		app.Spec, app.ManagedFields = withParameter(app.Spec, m.parameter.last()), w.written(m.name)
	})
}

// ignoredDifferences are what the ApplicationSet controller leaves to the image updater.
func (w *world) ignoredDifferences() (all argo.ApplicationSetIgnoreDifferences) {
	for _, name := range w.names {
		if w.members[name].imaged {
			all = append(all, argo.ApplicationSetResourceIgnoreDifferences{
				Name: name, JSONPointers: []string{"/spec/source/helm/releaseName", "/spec/sources/0/helm/releaseName"},
			})
		}
	}
	return all
}

// keepsImage is what the ApplicationSet controller wants of an Application, with what an image updater has written into
// it.
func (m *member) keepsImage(want argo.ApplicationSpec, live *argo.ApplicationSpec) argo.ApplicationSpec {
	if !m.imaged {
		return want
	}
	return withParameter(want, live.GetSources()[0].Helm.ReleaseName)
}
