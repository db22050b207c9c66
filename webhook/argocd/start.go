// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/utils/ptr"
)

// Starter is who starts the operations that stepgate writes, as they say themselves.
const Starter = "stepgate"

// NewOperation is the operation that the ApplicationSet controller would write for an Application of its (argo-cd
// v3.5.7, syncApplication in applicationset/progressivesync/progressive_sync.go), but that it names revisions, one for
// each source, and that stepgate starts it, for a reason. The mutating webhook adds the sources.
func NewOperation(app *argo.Application, set *argo.ApplicationSet, revisions []string, why string) *argo.Operation {
	op := &argo.Operation{
		InitiatedBy: argo.OperationInitiator{Username: Starter, Automated: true},
		Info:        []*argo.Info{{Name: "Reason", Value: why}},
		Retry:       argo.RetryStrategy{Limit: 5},
		Sync:        &argo.SyncOperation{Prune: prunes(app, set)},
	}
	if policy := app.Spec.SyncPolicy; policy != nil {
		if policy.Retry != nil {
			op.Retry = *policy.Retry.DeepCopy()
		}
		op.Sync.SyncOptions = policy.SyncOptions
	}
	if app.Spec.HasMultipleSources() {
		op.Sync.Revisions = revisions
	} else {
		op.Sync.Revision = revisions[0]
	}
	return op
}

// prunes reports whether a sync that Argo CD starts prunes. Auto-sync goes by the sync policy of the Application. The
// ApplicationSet controller goes by the one that it generates, and writes another one: from v3.3 on, one with enabled:
// false, which does not tell whether the generated one was enabled. So nothing is pruned that a template may have
// switched off, of whichever generator, or that none has switched on: somebody has, then, and the controller lets it be.
// Up to v3.2 it writes none, and nothing is pruned.
func prunes(app *argo.Application, set *argo.ApplicationSet) bool {
	policy := app.Spec.SyncPolicy
	if policy == nil || policy.Automated == nil || !policy.Automated.GetPrune() {
		return false
	}
	return policy.IsAutomatedSyncEnabled() || generatesPruning(&set.Spec)
}

var (
	// switchedOff and pruning are a sync policy in a template, as it is written in JSON.
	switchedOff = regexp.MustCompile(`"automated":\{[^{}]*"enabled":false`)
	pruning     = regexp.MustCompile(`"automated":\{[^{}]*"prune":true`)
	// maySwitchOff is a templatePatch that says whether automated sync is enabled, or that puts in a whole object, which
	// may say so.
	maySwitchOff = regexp.MustCompile(
		`enabled|to\w*(?:Json|Yaml)|(?:^|(?:spec|syncPolicy|automated)["']?:)(?:[ \t]*\{\{|\s*\{\{-?\s*[.$(])`,
	)
)

// generatesPruning reports whether the templates of an ApplicationSet, with those of its generators at any depth, only
// generate sync policies that are enabled, and some that prune.
func generatesPruning(spec *argo.ApplicationSetSpec) bool {
	templates, err := json.Marshal(map[string]any{"template": spec.Template, "generators": spec.Generators})
	patch := ptr.Deref(spec.TemplatePatch, "")
	return err == nil && !switchedOff.Match(templates) && !maySwitchOff.MatchString(patch) &&
		(pruning.Match(templates) || strings.Contains(patch, "prune"))
}

// ComparedRevisions are the revisions that an Application was last compared with, one for each source; nil if that was
// not with its spec, or if one is not known.
func ComparedRevisions(app *argo.Application) []string {
	app = asCompared(app)
	return comparedRevisions(&app.Spec, &app.Status.Sync)
}

// HasDeployed reports whether an Application has deployed its sources at these revisions, as far as its history goes. If
// that is not what it runs, somebody has gone back.
func HasDeployed(app *argo.Application, revs []string) bool {
	sources := oneOrMany(app.Spec.GetSource(), app.Spec.Sources)
	return slices.ContainsFunc(app.Status.History, func(h argo.RevisionHistory) bool {
		return slices.Equal(revisions(h.Revision, h.Revisions), revs) && sources.Equals(oneOrMany(h.Source, h.Sources))
	})
}

// HasRun reports whether the last full sync of an Application was one of its sources at these revisions, and has ended, in
// whatever way. It mirrors alreadyAttemptedSync of argo-cd v3.5.7, controller/appcontroller.go.
func HasRun(app *argo.Application, revs []string) bool {
	state, own := app.Status.OperationState, oneOrMany(app.Spec.GetSource(), app.Spec.Sources)
	if state == nil || !state.Phase.Completed() {
		return false
	}
	if !operatedOf(state).full() {
		full := operatedOf(state).lastFull(&app.Spec, nil)
		return full != nil && slices.Equal(full.Revisions, revs) && full.sources.Equals(own)
	}
	did := state.Operation.Sync
	named, at := did.Sources, revisions(did.Revision, did.Revisions)
	if did.Source != nil {
		named = oneOrMany(*did.Source, named)
	}
	if result := state.SyncResult; result != nil {
		named, at = oneOrMany(result.Source, result.Sources), revisions(result.Revision, result.Revisions)
	}
	return slices.Equal(at, revs) && named.Equals(own)
}

// byHand is when somebody started the last full sync by hand, as with argocd or kubectl; zero if a controller did, or
// if there was none. Of a sync that a dry run, or a sync of a part, has taken the place of, and that no history has,
// nobody knows who started it.
func byHand(status *argo.ApplicationStatus) time.Time {
	last, n := status.OperationState, len(status.History)
	switch {
	case last != nil && operatedOf(last).full():
		return unlessAutomated(last.Operation.InitiatedBy, last.StartedAt.Time)
	case n > 0:
		return unlessAutomated(status.History[n-1].InitiatedBy, status.History[n-1].DeployedAt.Time)
	case last != nil:
		return last.StartedAt.Time
	}
	return time.Time{}
}

func unlessAutomated(by argo.OperationInitiator, at time.Time) time.Time {
	if by.Automated {
		return time.Time{}
	}
	return at
}
