// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
)

const (
	deployRepo = "https://git.example.com/deploy.git"
	valuesRepo = "https://git.example.com/values.git"
	deployKey  = "https://git.example.com/deploy  main"
	valuesKey  = "https://git.example.com/values  HEAD"
)

// deploy is a source in the deploy repository, at main.
func deploy() argo.ApplicationSource {
	return argo.ApplicationSource{RepoURL: deployRepo, Path: "prod", TargetRevision: "main"}
}

// values is a source in another repository, at its default branch.
func values() argo.ApplicationSource {
	return argo.ApplicationSource{RepoURL: valuesRepo, Ref: "values"}
}

// commit is the commit that a letter stands for.
func commit(letter string) string { return strings.Repeat(letter, 40) }

// single is an Application with one source, compared at a.
func single() *argo.Application {
	app := application()
	one := deploy()
	app.Name, app.UID, app.Labels = "prod", "prod-uid", map[string]string{"step": "3"}
	app.Spec.Source = &one
	app.Status = argo.ApplicationStatus{
		Health:       argo.AppHealthStatus{Status: "Healthy"},
		ReconciledAt: at(100),
		Sync: argo.SyncStatus{
			Status: "Synced", Revision: commit("a"),
			ComparedTo: argo.ComparedTo{Source: deploy(), Destination: app.Spec.Destination},
		},
	}
	return app
}

// multi is an Application with two sources, compared at a and b.
func multi() *argo.Application {
	app := single()
	app.Spec.Source, app.Spec.Sources = nil, argo.ApplicationSources{deploy(), values()}
	app.Status.Sync = argo.SyncStatus{
		Status: "Synced", Revisions: []string{commit("a"), commit("b")},
		ComparedTo: argo.ComparedTo{Sources: app.Spec.Sources, Destination: app.Spec.Destination},
	}
	return app
}

// decoded is an Application as an admission request carries it.
func decoded(t *testing.T, app *argo.Application) *Application {
	t.Helper()
	g := NewWithT(t)
	raw, err := json.Marshal(app)
	g.Expect(err).NotTo(HaveOccurred())
	a, err := Decode(raw)
	g.Expect(err).NotTo(HaveOccurred())
	return a
}

// targetOf is the target of a write that adds the Application's operation.
func targetOf(t *testing.T, app *argo.Application) policy.Target {
	t.Helper()
	old := app.DeepCopy()
	old.Operation = nil
	return Tracking{}.Target(decoded(t, app), decoded(t, old))
}

func TestWanted(t *testing.T) {
	at := func(key, letter string) policy.Source { return policy.Source{Key: key, Revision: commit(letter)} }
	for name, tc := range map[string]struct {
		app  func() *argo.Application
		sync *argo.SyncOperation
		edit func(*argo.Application)
		want []policy.Source
	}{
		"the revision that was compared": {app: single, sync: &argo.SyncOperation{}, want: []policy.Source{at(deployKey, "a")}},
		"an operation that is no sync":   {app: single, want: []policy.Source{at(deployKey, "a")}},
		"an explicit revision":           {app: single, sync: &argo.SyncOperation{Revision: commit("c")}, want: []policy.Source{at(deployKey, "c")}},
		"Argo CD ignores revisions of one source": {
			app: single, sync: &argo.SyncOperation{Revisions: []string{commit("c")}}, want: []policy.Source{at(deployKey, "a")},
		},
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
			app: single, sync: &argo.SyncOperation{Revisions: []string{commit("c"), commit("d")}, Sources: argo.ApplicationSources{deploy(), values()}},
			want: []policy.Source{at(deployKey, "c"), at(valuesKey, "d")},
		},
		"sources win over a source": {
			app: single, sync: &argo.SyncOperation{Source: &argo.ApplicationSource{RepoURL: valuesRepo}, Sources: argo.ApplicationSources{deploy()}},
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
			app: multi, sync: &argo.SyncOperation{Revisions: []string{commit("c"), commit("d"), commit("e")}}, want: []policy.Source{at(deployKey, "c"), at(valuesKey, "d")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := tc.app()
			app.Operation = &argo.Operation{Sync: tc.sync}
			if tc.edit != nil {
				tc.edit(app)
			}
			NewWithT(t).Expect(targetOf(t, app).Wanted).To(Equal(tc.want))
		})
	}
}

func TestRollsBack(t *testing.T) {
	one, two := argo.ApplicationSources{deploy()}, argo.ApplicationSources{deploy(), values()}
	ofOne := argo.RevisionHistories{
		{Revision: commit("0"), Source: deploy()}, {Revision: commit("1"), Source: deploy()}, {Revision: commit("2"), Source: deploy()},
	}
	ofTwo := argo.RevisionHistories{
		{Revisions: []string{commit("0"), commit("1")}, Sources: two}, {Revisions: []string{commit("2"), commit("3")}, Sources: two},
	}
	elsewhere, moved := deploy(), deploy()
	elsewhere.RepoURL, moved.Path = valuesRepo, "other"
	for name, tc := range map[string]struct {
		history argo.RevisionHistories
		sync    *argo.SyncOperation
		want    bool
	}{
		"to the entry before":             {ofOne, &argo.SyncOperation{Revision: commit("1"), Source: &one[0]}, true},
		"to the oldest entry":             {ofOne, &argo.SyncOperation{Revision: commit("0"), Source: &one[0]}, true},
		"with the other spelling of one":  {ofOne, &argo.SyncOperation{Revisions: []string{commit("0")}, Sources: one}, true},
		"to what it is compared with now": {ofOne, &argo.SyncOperation{Revision: commit("a"), Source: &one[0]}, false},
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
		"with sources in another order":   {ofTwo, &argo.SyncOperation{Revisions: []string{commit("0"), commit("1")}, Sources: argo.ApplicationSources{values(), deploy()}}, false},
		"without a history":               {nil, &argo.SyncOperation{Revision: commit("0"), Source: &one[0]}, false},
		"with the first entry only":       {ofOne[:1], &argo.SyncOperation{Revision: commit("0"), Source: &one[0]}, false},
		"an entry without a revision":     {argo.RevisionHistories{{}, {}}, &argo.SyncOperation{Source: &argo.ApplicationSource{}}, false},
		"an operation that is no sync":    {ofOne, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := single()
			app.Status.History = tc.history
			app.Operation = &argo.Operation{Sync: tc.sync}
			NewWithT(t).Expect(targetOf(t, app).Operation.RollsBack).To(Equal(tc.want))
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
					app.OwnerReferences = append(app.OwnerReferences, owner(set, types.UID(set+"-uid"), true))
				}
				return app
			}
			var names []string
			for _, owner := range (Tracking{}).Owners(decoded(t, owned(tc.after)), decoded(t, owned(tc.before))) {
				names = append(names, owner.Name)
			}
			NewWithT(t).Expect(names).To(Equal(tc.want))
		})
	}
}

// TestOutOfSyncSince wants a comparison that is later than the end of the last operation.
func TestOutOfSyncSince(t *testing.T) {
	for name, row := range map[string]struct {
		status   string
		ended    *metav1.Time
		compared *metav1.Time
		want     bool
	}{
		"compared after the operation":             {"OutOfSync", at(50), at(51), true},
		"compared in the second in which it ended": {"OutOfSync", at(50), at(50), false},
		"Synced":             {"Synced", at(50), at(51), false},
		"the operation runs": {"OutOfSync", nil, at(51), false},
		"never compared":     {"OutOfSync", at(50), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := single()
			app.Status.Sync.Status, app.Status.ReconciledAt = argo.SyncStatusCode(row.status), row.compared
			app.Status.OperationState = &argo.OperationState{FinishedAt: row.ended}
			NewWithT(t).Expect(targetOf(t, app).OutOfSyncSince).To(Equal(row.want))
		})
	}
}

// TestSyncStartedAt wants the start of the last operation only if it was a full sync that succeeded.
func TestSyncStartedAt(t *testing.T) {
	state := func(phase string, sync *argo.SyncOperation) *argo.OperationState {
		return &argo.OperationState{
			Phase: synccommon.OperationPhase(phase), StartedAt: *at(51), Operation: argo.Operation{Sync: sync},
		}
	}
	for name, row := range map[string]struct {
		state *argo.OperationState
		want  time.Time
	}{
		"no operation":             {},
		"a sync that succeeded":    {state: state("Succeeded", &argo.SyncOperation{}), want: at(51).Time},
		"a sync that failed":       {state: state("Failed", &argo.SyncOperation{})},
		"a sync that runs":         {state: state("Running", &argo.SyncOperation{})},
		"a partial sync":           {state: state("Succeeded", &argo.SyncOperation{Resources: []argo.SyncOperationResource{{Name: "one"}}})},
		"a dry run":                {state: state("Succeeded", &argo.SyncOperation{DryRun: true})},
		"an operation, not a sync": {state: state("Succeeded", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			app := single()
			app.Status.OperationState = row.state
			NewWithT(t).Expect(targetOf(t, app).SyncStartedAt.Equal(row.want)).To(BeTrue())
		})
	}
}

// TestTheStatusOfAWriteIsNotBelieved brings along a status that no comparison made.
func TestTheStatusOfAWriteIsNotBelieved(t *testing.T) {
	g := NewWithT(t)
	app, old := single(), single()
	app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}}
	want := Tracking{}.Target(decoded(t, app), decoded(t, old))
	app.Status = argo.ApplicationStatus{
		Sync: argo.SyncStatus{Revision: commit("f"), ComparedTo: old.Status.Sync.ComparedTo}, ReconciledAt: at(999),
	}
	g.Expect(Tracking{}.Target(decoded(t, app), decoded(t, old))).To(Equal(want))
	created := Tracking{}.Target(decoded(t, app), nil)
	g.Expect(created.Compared).To(BeEmpty())
	g.Expect(created.ReconciledAt.IsZero()).To(BeTrue())
	g.Expect(created.OldLabels).To(BeNil())
}

// TestPinned asks whether an operation names all the revisions that it deploys.
func TestPinned(t *testing.T) {
	fixed := func() *argo.Application {
		app := single()
		app.Spec.Source.TargetRevision, app.Status.Sync.ComparedTo.Source.TargetRevision, app.Status.Sync.Revision = "1.2.3",
			"1.2.3", "1.2.3"
		return app
	}
	a, b := commit("a"), commit("b")
	for name, row := range map[string]struct {
		app  *argo.Application
		sync *argo.SyncOperation
		want bool
	}{
		"a commit":                                {single(), &argo.SyncOperation{Revision: a}, true},
		"no revision":                             {single(), &argo.SyncOperation{}, false},
		"the branch":                              {single(), &argo.SyncOperation{Revision: "main"}, false},
		"revisions, where there is one source":    {single(), &argo.SyncOperation{Revisions: []string{a}}, false},
		"a commit, and local manifests":           {single(), &argo.SyncOperation{Revision: a, Manifests: []string{"{}"}}, false},
		"a version that is the targetRevision":    {fixed(), &argo.SyncOperation{Revision: "1.2.3"}, true},
		"a revision for each source":              {multi(), &argo.SyncOperation{Revisions: []string{a, b}}, true},
		"a revision for one source of two":        {multi(), &argo.SyncOperation{Revisions: []string{a}}, false},
		"an empty one among the revisions":        {multi(), &argo.SyncOperation{Revisions: []string{a, ""}}, false},
		"more revisions than sources":             {multi(), &argo.SyncOperation{Revisions: []string{a, b, a}}, false},
		"a revision, where there are two sources": {multi(), &argo.SyncOperation{Revision: a}, false},
		"its own source, with a commit":           {multi(), &argo.SyncOperation{Revision: a, Source: &argo.ApplicationSource{RepoURL: valuesRepo}}, true},
		"an operation that is no sync":            {single(), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			row.app.Operation = &argo.Operation{Sync: row.sync}
			NewWithT(t).Expect(targetOf(t, row.app).Operation.Pinned).To(Equal(row.want))
		})
	}
}

// TestSameSources asks whether an operation deploys the sources of the newest entry of the history.
func TestSameSources(t *testing.T) {
	for name, row := range map[string]struct {
		edit func(*argo.Application)
		want bool
	}{
		"the same sources":                {edit: func(*argo.Application) {}, want: true},
		"the same sources, by themselves": {edit: func(a *argo.Application) { a.Operation.Sync.Source = a.Spec.Source.DeepCopy() }, want: true},
		"another parameter":               {edit: func(a *argo.Application) { a.Spec.Source.Helm.Parameters[0].Value = "v2" }},
		"another parameter, brought along": {edit: func(a *argo.Application) {
			a.Operation.Sync.Source = a.Spec.Source.DeepCopy()
			a.Operation.Sync.Source.Helm.Parameters[0].Value = "v2"
		}},
		"another revision": {edit: func(a *argo.Application) { a.Operation.Sync.Revision = oldCommit }, want: true},
		"nothing has run":  {edit: func(a *argo.Application) { a.Status.History = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			app := application()
			app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}}
			row.edit(app)
			NewWithT(t).Expect(targetOf(t, app).SameSources).To(Equal(row.want))
		})
	}
}

// TestForeign asks whether an operation deploys something else than the sources of the spec.
func TestForeign(t *testing.T) {
	for name, row := range map[string]struct {
		edit func(*argo.Application)
		want bool
	}{
		"it names a revision":               {edit: func(a *argo.Application) { a.Operation.Sync.Revision = commit("c") }},
		"it brings the sources of the spec": {edit: func(a *argo.Application) { a.Operation.Sync.Source = a.Spec.Source.DeepCopy() }},
		"it brings them with an empty list": {edit: func(a *argo.Application) {
			a.Operation.Sync.Source = a.Spec.Source.DeepCopy()
			a.Spec.Source.Kustomize = &argo.ApplicationSourceKustomize{Images: argo.KustomizeImages{}}
			a.Operation.Sync.Source.Kustomize = &argo.ApplicationSourceKustomize{}
		}},
		"another path": {want: true, edit: func(a *argo.Application) {
			a.Operation.Sync.Source = a.Spec.Source.DeepCopy()
			a.Operation.Sync.Source.Path = "elsewhere"
		}},
		"other parameters": {want: true, edit: func(a *argo.Application) {
			a.Operation.Sync.Source = a.Spec.Source.DeepCopy()
			a.Operation.Sync.Source.Helm = &argo.ApplicationSourceHelm{Values: "a: b"}
		}},
		"manifests": {want: true, edit: func(a *argo.Application) { a.Operation.Sync.Manifests = []string{"{}"} }},
	} {
		t.Run(name, func(t *testing.T) {
			app := application()
			app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}}
			row.edit(app)
			NewWithT(t).Expect(targetOf(t, app).Operation.Foreign).To(Equal(row.want))
		})
	}
}

// TestRedeploys asks whether an operation deploys what the newest entry of the history says is deployed.
func TestRedeploys(t *testing.T) {
	other := deploy()
	other.Path = "elsewhere"
	for name, row := range map[string]struct {
		newest argo.RevisionHistory
		sync   *argo.SyncOperation
		want   bool
	}{
		"the same":               {argo.RevisionHistory{Revision: commit("a"), Source: deploy()}, &argo.SyncOperation{Revision: commit("a")}, true},
		"the same, with sources": {argo.RevisionHistory{Revision: commit("a"), Source: deploy()}, &argo.SyncOperation{Revision: commit("a"), Source: ptr.To(deploy())}, true},
		"another revision":       {argo.RevisionHistory{Revision: commit("b"), Source: deploy()}, &argo.SyncOperation{Revision: commit("a")}, false},
		"another path":           {argo.RevisionHistory{Revision: commit("a"), Source: other}, &argo.SyncOperation{Revision: commit("a")}, false},
		"no revision":            {argo.RevisionHistory{Revision: commit("a"), Source: deploy()}, &argo.SyncOperation{}, false},
		"local manifests":        {argo.RevisionHistory{Revision: commit("a"), Source: deploy()}, &argo.SyncOperation{Revision: commit("a"), Manifests: []string{"{}"}}, false},
		"an empty entry":         {argo.RevisionHistory{}, &argo.SyncOperation{Revision: commit("a")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := single()
			app.Status.History = argo.RevisionHistories{{Revision: commit("0"), Source: deploy()}, row.newest}
			app.Operation = &argo.Operation{Sync: row.sync}
			NewWithT(t).Expect(targetOf(t, app).Operation.Redeploys).To(Equal(row.want))
		})
	}
}
