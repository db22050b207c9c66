package webhook

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

const (
	deployRepo = "https://git.example.com/deploy.git"
	valuesRepo = "https://git.example.com/values.git"
	deployKey  = "https://git.example.com/deploy  main"
	valuesKey  = "https://git.example.com/values  HEAD"
)

// source is of the deploy repository, at main.
func source() argo.ApplicationSource {
	return argo.ApplicationSource{RepoURL: deployRepo, Path: "prod", TargetRevision: "main"}
}

// values is of another repository, at its default branch.
func values() argo.ApplicationSource {
	return argo.ApplicationSource{RepoURL: valuesRepo, Ref: "values"}
}

// single is an Application of one source, compared at a; multi of two, compared at a and b.
func single() *argo.Application { return appOf("prod", "3", "Healthy", "a") }

func multi() *argo.Application {
	app := single()
	app.Spec.Source, app.Spec.Sources = nil, argo.ApplicationSources{source(), values()}
	app.Status.Sync = argo.SyncStatus{
		Status: "Synced", Revisions: []string{commit("a"), commit("b")},
		ComparedTo: argo.ComparedTo{Sources: app.Spec.Sources, Destination: app.Spec.Destination},
	}
	return app
}

func TestWanted(t *testing.T) {
	at := func(key, letter string) policy.Source { return policy.Source{Key: key, Revision: commit(letter)} }
	for name, tc := range map[string]struct {
		app  func() *argo.Application
		sync *argo.SyncOperation
		edit func(*argo.Application)
		want []policy.Source
	}{
		"the revision that was compared":   {app: single, sync: &argo.SyncOperation{}, want: []policy.Source{at(deployKey, "a")}},
		"an operation that is no sync":     {app: single, want: []policy.Source{at(deployKey, "a")}},
		"an explicit revision":             {app: single, sync: &argo.SyncOperation{Revision: commit("c")}, want: []policy.Source{at(deployKey, "c")}},
		"explicit revisions of one source": {app: single, sync: &argo.SyncOperation{Revisions: []string{commit("c")}}, want: []policy.Source{at(deployKey, "c")}},
		"a revision that repeats targetRevision is not resolved": {
			app: single, sync: &argo.SyncOperation{Revision: "main"}, want: []policy.Source{at(deployKey, "a")},
		},
		"HEAD repeats a targetRevision that is left out": {
			app: single, sync: &argo.SyncOperation{Revision: "HEAD"},
			edit: func(app *argo.Application) {
				app.Spec.Source.TargetRevision = ""
				app.Status.Sync.ComparedTo.Source.TargetRevision = "HEAD"
			},
			want: []policy.Source{at("https://git.example.com/deploy  HEAD", "a")},
		},
		"another branch than targetRevision is taken to the letter": {
			app: single, sync: &argo.SyncOperation{Revision: "hotfix"}, want: []policy.Source{{Key: deployKey, Revision: "hotfix"}},
		},
		"local manifests count as what was compared": {
			app: single, sync: &argo.SyncOperation{Manifests: []string{"{}"}, Revision: commit("c")}, want: []policy.Source{at(deployKey, "a")},
		},
		"a source override": {
			app: single, sync: &argo.SyncOperation{Revision: commit("c"), Source: &argo.ApplicationSource{RepoURL: valuesRepo}},
			want: []policy.Source{at(valuesKey, "c")},
		},
		"a source override that was never compared": {
			app: single, sync: &argo.SyncOperation{Source: &argo.ApplicationSource{RepoURL: valuesRepo}},
		},
		"an override of two sources": {
			app: single, sync: &argo.SyncOperation{Revisions: []string{commit("c"), commit("d")}, Sources: argo.ApplicationSources{source(), values()}},
			want: []policy.Source{at(deployKey, "c"), at(valuesKey, "d")},
		},
		"sources win over a source": {
			app: single, sync: &argo.SyncOperation{Source: &argo.ApplicationSource{RepoURL: valuesRepo}, Sources: argo.ApplicationSources{source()}},
			want: []policy.Source{at(deployKey, "a")},
		},
		"never compared": {
			app: single, sync: &argo.SyncOperation{}, edit: func(app *argo.Application) { app.Status.Sync = argo.SyncStatus{} },
		},
		"compared with another branch": {
			app: single, sync: &argo.SyncOperation{}, edit: func(app *argo.Application) { app.Spec.Source.TargetRevision = "next" },
		},
		"two sources that were compared": {
			app: multi, sync: &argo.SyncOperation{}, want: []policy.Source{at(deployKey, "a"), at(valuesKey, "b")},
		},
		"explicit revisions of two sources": {
			app: multi, sync: &argo.SyncOperation{Revisions: []string{commit("c"), commit("d")}}, want: []policy.Source{at(deployKey, "c"), at(valuesKey, "d")},
		},
		"an explicit revision of the first of two": {
			app: multi, sync: &argo.SyncOperation{Revisions: []string{commit("c")}}, want: []policy.Source{at(deployKey, "c"), at(valuesKey, "b")},
		},
		"an explicit revision of the second of two": {
			app: multi, sync: &argo.SyncOperation{Revisions: []string{"", commit("d")}}, want: []policy.Source{at(deployKey, "a"), at(valuesKey, "d")},
		},
		"more revisions than sources": {
			app: single, sync: &argo.SyncOperation{Revisions: []string{commit("c"), commit("d")}}, want: []policy.Source{at(deployKey, "c")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := tc.app()
			app.Operation = &argo.Operation{Sync: tc.sync}
			if tc.edit != nil {
				tc.edit(app)
			}
			NewWithT(t).Expect(wanted(app)).To(Equal(tc.want))
		})
	}
}

func TestRollsBack(t *testing.T) {
	one, two := argo.ApplicationSources{source()}, argo.ApplicationSources{source(), values()}
	ofOne := argo.RevisionHistories{
		{Revision: commit("0"), Source: source()}, {Revision: commit("1"), Source: source()}, {Revision: commit("2"), Source: source()},
	}
	ofTwo := argo.RevisionHistories{
		{Revisions: []string{commit("0"), commit("1")}, Sources: two}, {Revisions: []string{commit("2"), commit("3")}, Sources: two},
	}
	elsewhere, moved := source(), source()
	elsewhere.RepoURL, moved.Path = valuesRepo, "other"
	for name, tc := range map[string]struct {
		history argo.RevisionHistories
		sync    *argo.SyncOperation
		want    bool
	}{
		"to the entry before":             {ofOne, &argo.SyncOperation{Revision: commit("1"), Source: &one[0]}, true},
		"to the oldest entry":             {ofOne, &argo.SyncOperation{Revision: commit("0"), Source: &one[0]}, true},
		"with both spellings of one":      {ofOne, &argo.SyncOperation{Revisions: []string{commit("0")}, Sources: one}, true},
		"of two sources":                  {ofTwo, &argo.SyncOperation{Revisions: []string{commit("0"), commit("1")}, Sources: two}, true},
		"to the newest entry":             {ofOne, &argo.SyncOperation{Revision: commit("2"), Source: &one[0]}, false},
		"to no entry":                     {ofOne, &argo.SyncOperation{Revision: commit("9"), Source: &one[0]}, false},
		"to a part of a revision":         {ofOne, &argo.SyncOperation{Revision: commit("0")[:7], Source: &one[0]}, false},
		"without a revision":              {ofOne, &argo.SyncOperation{Source: &one[0]}, false},
		"without a source":                {ofOne, &argo.SyncOperation{Revision: commit("0")}, false},
		"with another repository":         {ofOne, &argo.SyncOperation{Revision: commit("0"), Source: &elsewhere}, false},
		"with another path":               {ofOne, &argo.SyncOperation{Revision: commit("0"), Source: &moved}, false},
		"with local manifests":            {ofOne, &argo.SyncOperation{Revision: commit("0"), Source: &one[0], Manifests: []string{"{}"}}, false},
		"with an entry's revisions mixed": {ofTwo, &argo.SyncOperation{Revisions: []string{commit("0"), commit("3")}, Sources: two}, false},
		"with one of two revisions":       {ofTwo, &argo.SyncOperation{Revisions: []string{commit("0")}, Sources: two}, false},
		"with one of two sources":         {ofTwo, &argo.SyncOperation{Revisions: []string{commit("0"), commit("1")}, Sources: one}, false},
		"with sources in another order":   {ofTwo, &argo.SyncOperation{Revisions: []string{commit("0"), commit("1")}, Sources: argo.ApplicationSources{values(), source()}}, false},
		"without a history":               {nil, &argo.SyncOperation{Revision: commit("0"), Source: &one[0]}, false},
		"with the first entry only":       {ofOne[:1], &argo.SyncOperation{Revision: commit("0"), Source: &one[0]}, false},
		"an entry without a revision":     {argo.RevisionHistories{{}, {}}, &argo.SyncOperation{Source: &argo.ApplicationSource{}}, false},
		"an operation that is no sync":    {ofOne, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := single()
			app.Status.History = tc.history
			app.Operation = &argo.Operation{Sync: tc.sync}
			NewWithT(t).Expect(rollsBack(app)).To(Equal(tc.want))
		})
	}
}

func TestOwners(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after string // names of ApplicationSets; "" is none
		want          []string
	}{
		"none":     {"", "", nil},
		"the same": {"a", "a", []string{"a"}},
		"gained":   {"", "a", []string{"a"}},
		"lost":     {"a", "", []string{"a"}},
		"moved":    {"a", "b", []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			owned := func(set string) *argo.Application {
				app := single()
				app.OwnerReferences = nil
				if set != "" {
					app.OwnerReferences = append(app.OwnerReferences, ownedBy(set))
				}
				return app
			}
			var names []string
			for _, owner := range owners(&object{Application: owned(tc.after)}, &object{Application: owned(tc.before)}) {
				names = append(names, owner.Name)
			}
			NewWithT(t).Expect(names).To(Equal(tc.want))
		})
	}
}
