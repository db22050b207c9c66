// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// No field of the Application alone turns a denial into an allow, except those that the design lists. Every field of a
// denied write's new object is removed and replaced, one at a time, by values of every type.
func TestNoFieldOfTheApplicationOpensTheGate(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario string
		// wantOpen are the fields that may.
		wantOpen []string
	}{
		"while an earlier Application is not Healthy": {
			scenario: "1:dev=Healthy@b 2:qa=Degraded@b 3:prod=Healthy@b",
			wantOpen: []string{"operation.sync.dryRun"},
		},
		"while an earlier Application is behind": {
			scenario: "1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b",
			wantOpen: []string{"operation.sync.dryRun"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(tc.scenario)
			trial := newTrial(scenario.Config(), c)
			write := withSlots(scenario.SyncOf(c, "prod"))
			write.User = "jane" // the ApplicationSet controller would be held back
			req := write.Request()
			g.Expect(trial.handle(req).Allowed).To(BeFalse())

			tried := 0
			opened := map[string]bool{}
			for path, edited := range edits(req) {
				for _, raw := range edited {
					tried++
					req.Object.Raw = raw
					// What is no operation write any more starts nothing. (A plain sync that only edits it is one.)
					if w, err := judge.NewWrite(req, argocd.Tracking{}); err == nil && !w.Target.Operation.Written {
						g.Expect(path).To(Equal("operation"))
						continue
					}
					if trial.handle(req).Allowed {
						opened[path] = true
					}
				}
			}
			g.Expect(tried).To(BeNumerically(">", 1000))
			g.Expect(slices.Sorted(maps.Keys(opened))).To(Equal(tc.wantOpen), "fields that alone open the gate")
		})
	}
}

// crowded fills in the fields that an Application may have, so that there is something to edit. None of them matters.
func withSlots(a *scenario.Attempt) *scenario.Attempt {
	for _, app := range []*argo.Application{a.Before, a.After} {
		app.Annotations = map[string]string{"note": "x"}
		app.Finalizers = []string{"resources-finalizer.argocd.argoproj.io"}
		app.Generation, app.ResourceVersion, app.GenerateName = 7, "42", "x"
		app.CreationTimestamp = metav1.NewTime(scenario.Noon)
		app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: ptr.To(true)}}
		app.Status.OperationState = &argo.OperationState{Phase: "Succeeded", StartedAt: metav1.NewTime(scenario.Noon)}
		app.Status.History = argo.RevisionHistories{
			{ID: 1, Revision: scenario.Commit("0"), Source: *app.Spec.Source, DeployedAt: metav1.NewTime(scenario.Noon)},
		}
		app.Status.Summary = argo.ApplicationSummary{Images: []string{"x"}}
	}
	a.After.Operation.Retry = argo.RetryStrategy{Limit: 5}
	a.After.Operation.Sync.SyncStrategy = &argo.SyncStrategy{Hook: &argo.SyncStrategyHook{}}
	return a
}

// absent are fields that the crowded Application lacks.
var absent = []string{
	"metadata.deletionTimestamp", "metadata.selfLink", "metadata.ownerReferences2", "operation.sync.dryRun", "operation.sync.prune",
	"operation.sync.manifests", "operation.sync.revision", "operation.sync.revisions", "operation.sync.source", "operation.sync.sources",
	"operation.sync.resources", "operation.dryRun", "operation.force", "spec.sources", "spec.sourceHydrator", "spec.operation", "status.sync.revisions",
	"status.sync.comparedTo.sources", "status.operation", "dryRun", "spec.strategy", "spec.source.chart", "status.sync.comparedTo.source.chart",
	"operation.sync.autoHealAttemptsCount",
}

// edits gives, by path, the object with that field removed and replaced.
func edits(req admissionv1.AdmissionRequest) map[string][][]byte {
	var object map[string]any
	if err := json.Unmarshal(req.Object.Raw, &object); err != nil {
		panic(err)
	}
	source := maps.Clone(object["spec"].(map[string]any)["source"].(map[string]any))
	values := []any{
		nil, true, false, 0, 1, -1, "", "1", "none", "true", scenario.Commit("a"), "2020-01-01T00:00:00Z",
		"2030-01-01T00:00:00Z",
		map[string]any{}, map[string]any{"step": "1"}, []any{}, []any{nil}, []any{"x"}, []any{map[string]any{}},
		[]any{scenario.Commit("a")}, []any{source}, source, "off", "guestbook", "Deleting",
	}
	all := map[string][][]byte{}
	var walk func(at map[string]any, prefix string)
	try := func(at map[string]any, key, path string) {
		was, had := at[key]
		delete(at, key)
		all[path] = append(all[path], scenario.Encode(object))
		for _, value := range values {
			at[key] = value
			all[path] = append(all[path], scenario.Encode(object))
		}
		if at[key] = was; !had {
			delete(at, key)
		}
	}
	walk = func(at map[string]any, prefix string) {
		for _, key := range slices.Sorted(maps.Keys(at)) {
			try(at, key, prefix+key)
			switch value := at[key].(type) {
			case map[string]any:
				walk(value, prefix+key+".")
			case []any:
				if first, ok := value[0].(map[string]any); ok {
					walk(first, prefix+key+"[0].")
				}
			}
		}
	}
	walk(object, "")
	for _, path := range absent {
		at := object
		keys := strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			at = at[key].(map[string]any)
		}
		try(at, keys[len(keys)-1], path)
	}
	return all
}
