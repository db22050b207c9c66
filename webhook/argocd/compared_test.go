// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestSpecCompared changes the spec of an Application after it was compared. What counts as a change is Argo CD's own
// Equals (v3.5.7): where that is wrong, Argo CD is wrong in the same way, and never compares again.
func TestSpecCompared(t *testing.T) {
	values := func(raw string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(raw)} }
	plugin := func(names ...string) *argo.ApplicationSourcePlugin {
		p := &argo.ApplicationSourcePlugin{Name: "cue"}
		for _, name := range names {
			p.Parameters = append(p.Parameters, argo.ApplicationSourcePluginParameter{Name: name})
		}
		return p
	}
	for name, row := range map[string]struct {
		app  *argo.Application
		edit func(*argo.Application)
		want bool
	}{
		"nothing changed":                {app: application(), edit: func(*argo.Application) {}, want: true},
		"another targetRevision":         {app: application(), edit: func(a *argo.Application) { a.Spec.Source.TargetRevision = "v2" }},
		"another path":                   {app: application(), edit: func(a *argo.Application) { a.Spec.Source.Path = "other" }},
		"another spelling of the repo":   {app: application(), edit: func(a *argo.Application) { a.Spec.Source.RepoURL = "https://git.example/org/repo" }},
		"another destination":            {app: application(), edit: func(a *argo.Application) { a.Spec.Destination.Namespace = "other" }},
		"another Helm value":             {app: application(), edit: func(a *argo.Application) { a.Spec.Source.Helm.Parameters[0].Value = "v2" }},
		"Helm parameters in other order": {app: application(), edit: swapParameters},
		"Helm gone":                      {app: application(), edit: func(a *argo.Application) { a.Spec.Source.Helm = nil }},
		"empty Helm where there was none": {app: application(), edit: func(a *argo.Application) {
			a.Status.Sync.ComparedTo.Source.Helm = nil
			a.Spec.Source.Helm = &argo.ApplicationSourceHelm{}
		}},
		"no Helm on either side": {app: application(), edit: func(a *argo.Application) { a.Status.Sync.ComparedTo.Source.Helm = nil; a.Spec.Source.Helm = nil }, want: true},
		"values that are spelt otherwise": {app: application(), want: true, edit: func(a *argo.Application) {
			a.Spec.Source.Helm.ValuesObject, a.Status.Sync.ComparedTo.Source.Helm.ValuesObject = values(`{"b":"x&y","a":1}`),
				values(`{"a":1,"b":"x\u0026y"}`)
		}},
		"values that differ": {app: application(), edit: func(a *argo.Application) {
			a.Spec.Source.Helm.ValuesObject, a.Status.Sync.ComparedTo.Source.Helm.ValuesObject = values(`{"a":1}`),
				values(`{"a":2}`)
		}},
		"plugin parameters in other order": {app: application(), edit: func(a *argo.Application) {
			a.Spec.Source.Plugin, a.Status.Sync.ComparedTo.Source.Plugin = plugin("x", "y"), plugin("y", "x")
		}},
		"an empty plugin where there was none": {app: application(), edit: func(a *argo.Application) {
			a.Spec.Source.Plugin = &argo.ApplicationSourcePlugin{}
		}},
		"an empty plugin map that was unset": {app: application(), want: true, edit: func(a *argo.Application) {
			a.Spec.Source.Plugin, a.Status.Sync.ComparedTo.Source.Plugin = plugin("x"), plugin("x")
			a.Spec.Source.Plugin.Parameters[0].OptionalMap = &argo.OptionalMap{Map: map[string]string{}}
			a.Status.Sync.ComparedTo.Source.Plugin.Parameters[0].OptionalMap = &argo.OptionalMap{}
		}},
		"only what is ignored changed": {app: application(), edit: func(a *argo.Application) {
			a.Spec.IgnoreDifferences = argo.IgnoreDifferences{{Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}}
		}},
		"never compared": {app: application(), edit: func(a *argo.Application) { a.Status.Sync.ComparedTo = argo.ComparedTo{} }},

		"many sources":                       {app: multiSource(), edit: func(*argo.Application) {}, want: true},
		"many sources in other order":        {app: multiSource(), edit: func(a *argo.Application) { a.Spec.Sources[0], a.Spec.Sources[1] = a.Spec.Sources[1], a.Spec.Sources[0] }},
		"one source more":                    {app: multiSource(), edit: func(a *argo.Application) { a.Spec.Sources = append(a.Spec.Sources, reference()) }},
		"one source fewer":                   {app: multiSource(), edit: func(a *argo.Application) { a.Spec.Sources = a.Spec.Sources[:1] }},
		"the second of many changed":         {app: multiSource(), edit: func(a *argo.Application) { a.Spec.Sources[1].TargetRevision = "v8" }},
		"many sources become one":            {app: multiSource(), edit: func(a *argo.Application) { one := source(); a.Spec.Sources, a.Spec.Source = nil, &one }},
		"one source becomes many":            {app: application(), edit: func(a *argo.Application) { a.Spec.Sources = argo.ApplicationSources{source()} }},
		"a source beside many is not looked": {app: multiSource(), edit: func(a *argo.Application) { other := reference(); a.Spec.Source = &other }, want: true},

		"hydrated":                              {app: hydrated(), edit: func(*argo.Application) {}, want: true},
		"hydrated from another branch":          {app: hydrated(), edit: func(a *argo.Application) { a.Spec.SourceHydrator.SyncSource.TargetBranch = "env/qa" }},
		"hydrated from another repository":      {app: hydrated(), edit: func(a *argo.Application) { a.Spec.SourceHydrator.DrySource.RepoURL = "https://git.example/org/other" }},
		"hydrated, only the dry source changed": {app: hydrated(), edit: func(a *argo.Application) { a.Spec.SourceHydrator.DrySource.TargetRevision = "v2" }, want: true},
		"hydrated, of just this dry source":     {app: hydrated(), edit: made, want: true},
		"hydrated, of another dry source": {app: hydrated(), edit: func(a *argo.Application) {
			made(a)
			a.Spec.SourceHydrator.DrySource.Path = "charts/other"
		}},
		"hydrated, sources beside it are unused": {app: hydrated(), edit: func(a *argo.Application) { a.Spec.Sources = argo.ApplicationSources{reference()} }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			row.edit(row.app)
			NewWithT(t).Expect(Sibling(row.app).SpecCompared).To(Equal(row.want))
		})
	}
}

// made says of what the hydrated commit was made.
func made(a *argo.Application) {
	a.Status.SourceHydrator.LastSuccessfulOperation = &argo.SuccessfulHydrateOperation{
		HydratedSHA: newCommit, SourceHydrator: *a.Spec.SourceHydrator.DeepCopy(),
	}
}

func swapParameters(a *argo.Application) {
	parameters := a.Spec.Source.Helm.Parameters
	parameters[0], parameters[1] = parameters[1], parameters[0]
}
