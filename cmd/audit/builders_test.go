// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/audit"
)

// epoch is second 0 of the scenarios.
var epoch = time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC)

func at(second int) metav1.Time {
	return metav1.NewTime(epoch.Add(time.Duration(second) * time.Second))
}

// guestbook is an ApplicationSet with the steps dev, qa and prod.
func guestbook(name string) *argo.ApplicationSet {
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, UID: types.UID(name)}}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
	}
	for _, env := range []string{"dev", "qa", "prod"} {
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: "env", Operator: "In", Values: []string{env}}},
		})
	}
	return set
}

// waves is an ApplicationSet whose steps are the sync waves of its Applications.
func waves(name string) *argo.ApplicationSet {
	return &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: name, UID: types.UID(name), Annotations: map[string]string{"stepgate.io/waves": "true"},
	}}
}

// sync is one sync of a scenario: a revision letter, when it started and ended, and flags.
var syncs = regexp.MustCompile(`^([a-z])@(\d+)(?:-(\d+))?([hfvopdm]*)$`)

// application makes an Application of an ApplicationSet from one line:
//
//	NAME ENV [created=S] [id=N] [limit=N] [wave=N] [repo=X | chart=X] [second=X] SYNC...
//
// A SYNC is REVISION@START-END and flags: h is by hand, f failed, v has another path, o has another revision of the
// second source, p is partial, d a dry run, m of local manifests. A failed sync, and one without an end, is the
// operationState.
func application(set *argo.ApplicationSet, line string) *argo.Application {
	words := strings.Fields(line)
	yes := true
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: set.Namespace, Name: words[0], Labels: map[string]string{"env": words[1]}, CreationTimestamp: at(-1000),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set.Name, UID: set.UID, Controller: &yes}},
	}}
	app.Spec.Source = &argo.ApplicationSource{
		RepoURL: "https://github.com/acme/guestbook.git", TargetRevision: "main", Path: "envs/" + words[1],
	}
	id := int64(0)
	for _, word := range words[2:] {
		key, value, isOption := strings.Cut(word, "=")
		switch {
		case !isOption:
			deploy(app, word, &id)
		case key == "created":
			app.CreationTimestamp = at(number(value))
		case key == "id":
			id = int64(number(value))
		case key == "limit":
			limit := int64(number(value))
			app.Spec.RevisionHistoryLimit = &limit
		case key == "wave":
			app.Annotations = map[string]string{"argocd.argoproj.io/sync-wave": value}
		case key == "chart":
			app.Spec.Source = &argo.ApplicationSource{RepoURL: "https://charts.example.com", Chart: value, TargetRevision: "1.*"}
		case key == "repo":
			app.Spec.Source.RepoURL = "https://github.com/acme/" + value
		case key == "second":
			app.Spec.Sources = argo.ApplicationSources{
				*app.Spec.Source, {RepoURL: "https://github.com/acme/" + value, TargetRevision: "main", Ref: "values"},
			}
			app.Spec.Source = nil
		}
	}
	return app
}

func deploy(app *argo.Application, word string, id *int64) {
	m := syncs.FindStringSubmatch(word)
	if m == nil {
		panic(fmt.Sprintf("%q is not a sync", word))
	}
	flag := func(f string) bool { return strings.Contains(m[4], f) }
	by := argo.OperationInitiator{Username: "applicationset-controller", Automated: true}
	if flag("h") {
		by = argo.OperationInitiator{Username: "alice"}
	}
	sources, revisions := app.Spec.GetSources().DeepCopy(), []string{commit(m[1]), commit("y")}
	if flag("v") {
		sources[0].Path += "-new"
	}
	if sources[0].Chart != "" {
		revisions[0] = "1.0." + strconv.Itoa(int(m[1][0]-'a'))
	}
	if flag("o") {
		revisions[1] = commit("z")
	}
	started := at(number(m[2]))
	if strings.ContainsAny(m[4], "fpdm") || m[3] == "" {
		app.Status.OperationState = operationState(m, by, started, sources, revisions)
		return
	}
	h := argo.RevisionHistory{ID: *id, DeployStartedAt: &started, DeployedAt: at(number(m[3])), InitiatedBy: by}
	if *id++; app.Spec.HasMultipleSources() {
		h.Sources, h.Revisions = sources, revisions
	} else {
		h.Source, h.Revision = sources[0], revisions[0]
	}
	app.Status.History = append(app.Status.History, h)
}

func operationState(
	m []string, by argo.OperationInitiator, started metav1.Time, sources argo.ApplicationSources, revisions []string,
) *argo.OperationState {
	state := &argo.OperationState{
		Operation: argo.Operation{InitiatedBy: by, Sync: &argo.SyncOperation{}}, StartedAt: started, Phase: synccommon.OperationRunning,
		SyncResult: &argo.SyncOperationResult{Source: sources[0], Revision: revisions[0]},
	}
	if m[3] != "" {
		finished := at(number(m[3]))
		state.FinishedAt, state.Phase = &finished, synccommon.OperationFailed
	}
	state.Operation.Sync.DryRun = strings.Contains(m[4], "d")
	if strings.Contains(m[4], "m") {
		state.Operation.Sync.Manifests = []string{"{}"}
	}
	if strings.Contains(m[4], "p") {
		state.Operation.Sync.Resources = []argo.SyncOperationResource{{Kind: "ConfigMap", Name: "one"}}
	}
	return state
}

// commit makes a commit of a letter.
func commit(letter string) string {
	sum := sha256.Sum256([]byte(letter))
	return hex.EncodeToString(sum[:20])
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

// audited is the report of a guestbook with these Applications, a day later.
func audited(t *testing.T, lines ...string) *audit.Report {
	t.Helper()
	c, set := &audit.Collection{}, guestbook("guestbook")
	c.AddSet(set)
	for _, line := range lines {
		c.AddApplication(application(set, line))
	}
	return c.Report(audit.Options{Now: epoch.Add(24 * time.Hour), Context: "prod-cluster"})
}
