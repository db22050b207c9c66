// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
)

// newHydratedWorld is newWatchedWorld, in which both are hydrated from one branch, to a branch each, and have deployed
// what dry commit d was hydrated to.
func newHydratedWorld(branches map[string]string) *watchedWorld {
	w := newWatchedWorld()
	for _, app := range w.Apps {
		app.Spec.Source, app.Spec.SourceHydrator = nil, &argo.SourceHydrator{
			DrySource:  argo.DrySource{RepoURL: "https://git.example.com/deploy.git", TargetRevision: "main", Path: "v1"},
			SyncSource: argo.SyncSource{TargetBranch: branches[app.Name], Path: app.Name},
		}
		compared(app)
		hydratedBy(app, "d", 20*time.Minute)
		deployed(app)
		app.Status.Sync.Status = "Synced"
	}
	w.list()
	return w
}

// hydratedTo lets an Application be hydrated to commit f by dry commit e, and be compared with that.
func hydratedTo(app *argo.Application) {
	app.Status.Sync.Revision = scenario.Commit("f")
	compared(app)
	hydratedBy(app, "e", 10*time.Second)
}

// done lets an Application have deployed what it is compared with.
func done(app *argo.Application) {
	deployed(app)
	app.Status.Sync.Status = "Synced"
}

// lookedAt lets the hydrator know of dry commit e, and do nothing about it yet.
func lookedAt(app *argo.Application) {
	app.Status.SourceHydrator.LastComparedDryRevision = scenario.Commit("e")
}

// hydrating lets the hydrator begin with that.
func hydrating(app *argo.Application) {
	h := &app.Status.SourceHydrator
	h.LastSuccessfulOperation = &argo.SuccessfulHydrateOperation{
		DrySHA: h.CurrentOperation.DrySHA, HydratedSHA: h.CurrentOperation.HydratedSHA, SourceHydrator: *app.Spec.SourceHydrator.DeepCopy(),
	}
	h.CurrentOperation = &argo.HydrateOperation{
		Phase: argo.HydrateOperationPhaseHydrating, StartedAt: metav1.NewTime(scenario.Noon.Add(-5 * time.Second)),
		SourceHydrator: *app.Spec.SourceHydrator.DeepCopy(),
	}
}

// repainted gives the dry source another parameter.
func repainted(app *argo.Application) {
	app.Spec.SourceHydrator.DrySource.Helm = imageTag("v2")
}

// changeAndRefresh lets dev change, and somebody have it refreshed after that.
func (w *watchedWorld) changeAndRefresh(edits []func(*argo.Application)) {
	for _, edit := range edits {
		w.at(5*time.Second, w.dev, edit)
	}
	w.at(4*time.Second, w.dev, func(app *argo.Application) {
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, argo.AnnotationKeyRefresh, string(argo.RefreshTypeNormal))
	})
	w.at(3*time.Second, w.dev, func(app *argo.Application) {
		delete(app.Annotations, argo.AnnotationKeyRefresh)
		app.Status.ReconciledAt = ptr.To(metav1.NewTime(scenario.Noon))
	})
}

// TestADryCommitGoesThroughTheSteps has prod be hydrated by a dry commit, and compared with that. What dev was hydrated
// to decides.
func TestADryCommitGoesThroughTheSteps(t *testing.T) {
	own := map[string]string{"dev": "env/dev", "prod": "env/prod"}
	shared := map[string]string{"dev": "env/all", "prod": "env/all"}
	for name, tc := range map[string]struct {
		branches map[string]string
		dev      []func(*argo.Application)
		want     bool
	}{
		"dev has done it":                                      {own, []func(*argo.Application){hydratedTo, done}, true},
		"dev has not looked at it":                             {own, nil, false},
		"dev waits to be hydrated":                             {own, []func(*argo.Application){lookedAt}, false},
		"dev is being hydrated":                                {own, []func(*argo.Application){lookedAt, hydrating}, false},
		"dev was hydrated, and has not synced":                 {own, []func(*argo.Application){hydratedTo}, false},
		"dev was synced before it is hydrated (argo-cd 22303)": {own, []func(*argo.Application){lookedAt, hydrating, done}, false},
		"it does not touch dev (argo-cd 29816)":                {own, []func(*argo.Application){skipping, lookedAt}, true},
		"it does not touch dev, and dev was not compared with the branch since (argo-cd 29816)": {
			shared, []func(*argo.Application){skipping, lookedAt}, false,
		},
		"it does not touch dev, and dev was compared with the branch since": {
			shared, []func(*argo.Application){skipping, lookedAt, func(a *argo.Application) {
				a.Status.Sync.Revision = scenario.Commit("f")
				compared(a)
				a.Status.Sync.Status = "Synced"
			}}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHydratedWorld(tc.branches)
			w.at(9*time.Second, w.prod, hydratedTo)
			w.changeAndRefresh(tc.dev)
			g := NewWithT(t)
			allowed, reason := w.syncsProd()
			if !tc.want {
				g.Expect(reason).To(Equal(string(policy.NotCompleted)))
			}
			g.Expect(allowed).To(Equal(tc.want), reason)
		})
	}
}

// skipping has Argo CD skip commits that touch other paths.
func skipping(app *argo.Application) {
	app.Annotations = map[string]string{argo.AnnotationKeyManifestGeneratePaths: "."}
}

// TestParametersGoThroughTheStepsAtOneDryCommit has the parameters of the dry source change, and Argo CD hydrate the
// same dry commit again (argo-cd 25190).
func TestParametersGoThroughTheStepsAtOneDryCommit(t *testing.T) {
	again := func(app *argo.Application) {
		app.Status.Sync.Revision = scenario.Commit("f")
		compared(app)
		hydratedBy(app, "d", 10*time.Second)
	}
	for name, tc := range map[string]struct {
		dev  []func(*argo.Application)
		want bool
	}{
		"dev was not hydrated again":                  {nil, false},
		"dev was hydrated again, and has not synced":  {[]func(*argo.Application){again}, false},
		"dev was hydrated again, and has deployed it": {[]func(*argo.Application){again, done}, true},
		"dev was hydrated again, and was not compared with": {[]func(*argo.Application){func(a *argo.Application) {
			hydratedBy(a, "d", 0)
			a.Status.SourceHydrator.CurrentOperation.HydratedSHA = scenario.Commit("f")
		}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHydratedWorld(map[string]string{"dev": "env/dev", "prod": "env/prod"})
			for _, app := range []*argo.Application{w.prod, w.dev} {
				w.at(30*time.Second, app, repainted)
			}
			w.at(9*time.Second, w.prod, again)
			w.changeAndRefresh(tc.dev)
			allowed, reason := w.syncsProd()
			NewWithT(t).Expect(allowed).To(Equal(tc.want), reason)
		})
	}
}
