// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"fmt"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
)

// TestNewPin wants of every operation the revisions that it is pinned to, and that it is Pinned afterwards.
func TestNewPin(t *testing.T) {
	plain := func() *argo.SyncOperation { return &argo.SyncOperation{} }
	automated := func(app, _ *argo.Application) { app.Operation.InitiatedBy.Automated = true }
	for name, row := range map[string]struct {
		app       func() *argo.Application
		sync      *argo.SyncOperation
		edit      func(app, old *argo.Application)
		candidate []string
		want      []string
	}{
		"one source":         {app: single, sync: plain(), want: []string{commit("a")}},
		"two sources":        {app: multi, sync: plain(), want: []string{commit("a"), commit("b")}},
		"OutOfSync":          {app: single, sync: plain(), edit: func(_, old *argo.Application) { old.Status.Sync.Status = "OutOfSync" }, want: []string{commit("a")}},
		"a candidate":        {app: single, sync: plain(), candidate: []string{commit("b")}, want: []string{commit("b")}},
		"a candidate of two": {app: multi, sync: plain(), candidate: []string{commit("c"), commit("b")}, want: []string{commit("c"), commit("b")}},
		"a candidate, and auto-sync names what is compared": {
			app: single, sync: &argo.SyncOperation{Revision: commit("a"), Source: single().Spec.Source}, edit: automated,
			candidate: []string{commit("b")}, want: []string{commit("b")},
		},
		"a candidate of two, and auto-sync names what is compared": {
			app: multi, sync: &argo.SyncOperation{Revisions: []string{commit("a"), commit("b")}, Sources: multi().Spec.Sources}, edit: automated,
			candidate: []string{commit("c"), commit("b")}, want: []string{commit("c"), commit("b")},
		},
		"a candidate, and auto-sync names something else": {
			app: single, sync: &argo.SyncOperation{Revision: commit("c")}, edit: automated, candidate: []string{commit("b")}, want: []string{commit("c")},
		},
		"a candidate, and a user names what is compared": {
			app: single, sync: &argo.SyncOperation{Revision: commit("a")}, candidate: []string{commit("b")}, want: []string{commit("a")},
		},
		"it names a revision": {app: single, sync: &argo.SyncOperation{Revision: "main"}},
		"it names a commit":   {app: single, sync: &argo.SyncOperation{Revision: commit("c")}, want: []string{commit("c")}},
		"it names revisions":  {app: multi, sync: &argo.SyncOperation{Revisions: []string{commit("c"), commit("d")}}, want: []string{commit("c"), commit("d")}},
		"it names one of two": {app: multi, sync: &argo.SyncOperation{Revisions: []string{commit("c")}}},
		"it brings both":      {app: single, sync: &argo.SyncOperation{Revision: commit("c"), Source: single().Spec.Source}},
		"a retry would resolve again": {
			app: single, sync: &argo.SyncOperation{Revision: commit("c"), Source: single().Spec.Source}, want: []string{commit("c")},
			edit: func(app, _ *argo.Application) { app.Operation.Retry.Refresh = true },
		},
		"it brings a source":       {app: single, sync: &argo.SyncOperation{Source: &argo.ApplicationSource{RepoURL: valuesRepo}}},
		"it brings manifests":      {app: single, sync: &argo.SyncOperation{Manifests: []string{"{}"}}},
		"it is no sync":            {app: single},
		"the spec changes with it": {app: single, sync: plain(), edit: func(app, _ *argo.Application) { app.Spec.Source.Path = "elsewhere" }},
		"the destination changes":  {app: single, sync: plain(), edit: func(app, _ *argo.Application) { app.Spec.Destination.Namespace = "elsewhere" }},
		"never compared":           {app: single, sync: plain(), edit: func(_, old *argo.Application) { old.Status.Sync = argo.SyncStatus{} }},
		"the comparison failed":    {app: single, sync: plain(), edit: func(_, old *argo.Application) { old.Status.Sync.Status = "Unknown" }},
		"a revision is not known":  {app: multi, sync: plain(), edit: func(_, old *argo.Application) { old.Status.Sync.Revisions[1] = "" }},
		"no source at all": {app: single, sync: plain(), edit: func(app, old *argo.Application) {
			app.Spec.Source, old.Status.Sync.ComparedTo.Source, old.Status.Sync.Revision = nil, argo.ApplicationSource{}, ""
		}},
		"fewer revisions than sources":    {app: multi, sync: plain(), edit: func(_, old *argo.Application) { old.Status.Sync.Revisions = old.Status.Sync.Revisions[:1] }},
		"the operation is not new":        {app: single, sync: plain(), edit: func(app, old *argo.Application) { old.Operation = app.Operation }},
		"the status comes with the write": {app: single, sync: plain(), want: []string{commit("a")}, edit: func(app, _ *argo.Application) { app.Status.Sync.Revision = commit("f") }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app, old := row.app(), row.app()
			app.Operation = &argo.Operation{Sync: row.sync}
			if row.edit != nil {
				row.edit(app, old)
			}
			pin := NewPin(decoded(t, app), decoded(t, old), row.candidate)
			g.Expect(pin.Revisions).To(Equal(row.want))
			if row.want == nil {
				g.Expect(pin.Patches).To(BeEmpty())
				return
			}
			written := pinned(t, app, pin)
			g.Expect(written.Operation.Sync.Prune).To(Equal(app.Operation.Sync.Prune))
			g.Expect(Tracking{}.Target(decoded(t, written), decoded(t, old)).Operation.Pinned).To(BeTrue())
			again := NewPin(decoded(t, written), decoded(t, old), row.candidate)
			g.Expect(again.Patches).To(BeEmpty(), "it is idempotent")
		})
	}
}

// TestAPinnedOperationIsNotResolvedAgain takes retry.refresh back.
func TestAPinnedOperationIsNotResolvedAgain(t *testing.T) {
	g := NewWithT(t)
	app, old := single(), single()
	app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}, Retry: argo.RetryStrategy{Limit: 5, Refresh: true}}
	pin := NewPin(decoded(t, app), decoded(t, old), nil)
	g.Expect(pin.Unrefreshed).To(BeTrue())
	g.Expect(pinned(t, app, pin).Operation.Retry).To(Equal(argo.RetryStrategy{Limit: 5}))
}

// TestRetriesOfAPinnedOperationAreBounded to 5 minutes if it had retry.refresh. Argo CD waits as long before the first
// retry as it would before a second one.
func TestRetriesOfAPinnedOperationAreBounded(t *testing.T) {
	backoff := func(duration string, factor int64, most string) *argo.Backoff {
		return &argo.Backoff{Duration: duration, Factor: &factor, MaxDuration: most}
	}
	for name, tc := range map[string]struct {
		retry argo.RetryStrategy
		want  int64
	}{
		"for ever":                   {argo.RetryStrategy{Limit: -1, Refresh: true}, 4}, // 10 + 20 + 40 + 80 s
		"as Argo CD does by default": {argo.RetryStrategy{Limit: 5, Refresh: true}, 4},
		"few":                        {argo.RetryStrategy{Limit: 2, Refresh: true}, 2},
		"none":                       {argo.RetryStrategy{Limit: 0, Refresh: true}, 0},
		"every minute":               {argo.RetryStrategy{Limit: 100, Refresh: true, Backoff: backoff("60", 1, "")}, 5},
		"the longest wait":           {argo.RetryStrategy{Limit: 100, Refresh: true, Backoff: backoff("1m", 2, "100s")}, 3},
		"the first wait is too long": {argo.RetryStrategy{Limit: 100, Refresh: true, Backoff: backoff("4m", 2, "1h")}, 0},
		"without a pause":            {argo.RetryStrategy{Limit: -1, Refresh: true, Backoff: backoff("0", 0, "0")}, 300},
		"it cannot be read":          {argo.RetryStrategy{Limit: 7, Refresh: true, Backoff: backoff("soon", 2, "")}, 0},
		"without refresh":            {argo.RetryStrategy{Limit: -1}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app, old := single(), single()
			app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}, Retry: tc.retry}
			pin := NewPin(decoded(t, app), decoded(t, old), nil)
			pin.BoundRetries(decoded(t, app))
			got := pinned(t, app, pin)
			g.Expect(got.Operation.Retry.Limit).To(Equal(tc.want))
			g.Expect(got.Operation.Retry.Refresh).To(BeFalse())
			g.Expect(pin.Pinned(decoded(t, app)).Operation.Retry).To(Equal(got.Operation.Retry), "the Gate judges the same")
			g.Expect(pin.Retries != nil).To(Equal(tc.want != tc.retry.Limit))
		})
	}
}

func TestACreatedApplicationIsNotPinned(t *testing.T) {
	app := single()
	app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}}
	NewWithT(t).Expect(NewPin(decoded(t, app), nil, nil).Patches).To(BeEmpty())
}

// pinned is the Application as the API server makes it of the patches.
func pinned(t *testing.T, app *argo.Application, pin Pin) *argo.Application {
	t.Helper()
	g := NewWithT(t)
	written := &argo.Application{}
	g.Expect(json.Unmarshal(patched(g, encoded(t, app), pin), written)).To(Succeed())
	return written
}

// patched is an object with the patches of a Pin.
func patched(g *WithT, object []byte, pin Pin) []byte {
	text, err := json.Marshal(pin.Patches)
	g.Expect(err).NotTo(HaveOccurred())
	patch, err := jsonpatch.DecodePatch(text)
	g.Expect(err).NotTo(HaveOccurred())
	raw, err := patch.Apply(object)
	g.Expect(err).NotTo(HaveOccurred())
	return raw
}

// TestAPinKeepsFieldsThatItDoesNotKnow has a field of Argo CD 3.6, directory.disableExtensionFilter, in the spec: an
// operation without it would leave out, and prune, what only this field deploys.
func TestAPinKeepsFieldsThatItDoesNotKnow(t *testing.T) {
	const source = `{"repoURL": "https://git.example/app", "path": "dev", "targetRevision": "main", "directory": {"disableExtensionFilter": true}}`
	const compared = `"status": {"sync": {"status": "Synced", "revision": "%[1]s", "revisions": ["%[1]s"], "comparedTo": {%[2]s}}}`
	for name, field := range map[string]string{"source": `"source": ` + source, "sources": `"sources": [` + source + `]`} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := `{"metadata": {"name": "dev"}, "spec": {` + field + `}, ` + fmt.Sprintf(compared, commit("a"), field) +
				`, "operation": {"sync": {}}}`
			app, old := &Application{}, &Application{}
			g.Expect(decode([]byte(text), app)).To(Succeed())
			g.Expect(decode([]byte(text), old)).To(Succeed())
			old.Operation = nil
			patches, err := json.Marshal(NewPin(app, old, nil).Patches)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(patches)).To(ContainSubstring("disableExtensionFilter"))
		})
	}
}
