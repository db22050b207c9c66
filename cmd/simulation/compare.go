// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// compare is CompareAppState, with the state that git has now, and the cluster as the controller's cache has it. The
// time of the comparison is when it began. It also returns when the branches were resolved to the revisions.
func (c *appController) compare(
	app *argo.Application, l level, began time.Duration,
) (status argo.ApplicationStatus, resolved map[string]time.Duration) {
	m := c.w.members[app.Name]
	status, resolved = app.Status, map[string]time.Duration{}
	if l == recent {
		status.Sync = c.compared(app, app.Status.GetRevisions())
	} else {
		revisions := c.resolve(m, l)
		for i, b := range m.sources {
			resolved[revisions[i]] = b.cachedAt
		}
		status.Sync = c.compared(app, revisions)
	}
	if status.ReconciledAt == nil || l >= latest {
		at := c.w.stampAt(began + c.w.skew(m.name))
		status.ReconciledAt = &at
	}
	status.Resources = c.w.resources(m, app.Spec.Destination.Namespace, status.Sync.Status,
		c.w.contentOf(&app.Spec, status.GetRevisions()))
	status.Health.Status = "Missing"
	if live := m.cached(); live.exists {
		status.Health.Status = healthCode(live.health)
	}
	if m.sources[0].dry != nil && l >= latest {
		status.SourceHydrator = c.w.hydratorStatus(m, app.Spec.SourceHydrator)
		c.hydrate(m, &app.Spec)
	}
	return status, resolved
}

// compared is the result of a comparison with these revisions.
func (c *appController) compared(app *argo.Application, revisions []string) argo.SyncStatus {
	m := c.w.members[app.Name]
	sync := argo.SyncStatus{
		Status: argo.SyncStatusCodeOutOfSync, ComparedTo: argo.ComparedTo{
			Destination: app.Spec.Destination, IgnoreDifferences: app.Spec.IgnoreDifferences,
		},
	}
	if app.Spec.HasMultipleSources() {
		sync.ComparedTo.Sources, sync.Revisions = app.Spec.Sources, revisions
	} else {
		sync.ComparedTo.Source = app.Spec.GetSource()
		if len(revisions) > 0 {
			sync.Revision = revisions[0]
		}
	}
	if live := m.cached(); live.exists && !live.drifted && !m.leftover &&
		live.content == c.w.contentOf(&app.Spec, revisions) {
		sync.Status = argo.SyncStatusCodeSynced
	}
	return sync
}

// resources are the one resource that every Application has, and the one that has to be pruned from another namespace,
// or that nobody prunes.
func (*world) resources(m *member, namespace string, status argo.SyncStatusCode, want content) []argo.ResourceStatus {
	wanted := argo.ResourceStatus{
		Group: "apps", Kind: "Deployment", Namespace: namespace, Name: "guestbook", Status: status,
	}
	if m.leftover && m.cached().exists {
		old, done := wanted, wanted
		old.Name, old.RequiresPruning, old.Status = "leftover", true, argo.SyncStatusCodeOutOfSync
		if live := m.cached(); !live.drifted && live.content == want {
			done.Status = argo.SyncStatusCodeSynced
		}
		return []argo.ResourceStatus{done, old}
	}
	if was := m.cached().content.destination; m.cached().exists && was != namespace {
		old := wanted
		old.Namespace, old.RequiresPruning = was, true
		return []argo.ResourceStatus{wanted, old}
	}
	return []argo.ResourceStatus{wanted}
}

// resolve asks the repo-server for the revisions of all branches.
func (c *appController) resolve(m *member, l level) []string {
	var revisions []string
	for _, b := range m.sources {
		if l == forceResolve || c.w.now-b.cachedAt >= refsExpire {
			b.cached, b.cachedAt = b.head(), c.w.now
		}
		revisions = append(revisions, b.states[b.cached].revision)
	}
	return revisions
}

// persist is persistReconciliationStatus: a patch of what the comparison changed. It removes the refresh annotation if
// the comparison began with one, even if somebody has asked again since.
func (c *appController) persist(
	from *argo.Application, status argo.ApplicationStatus, resolved map[string]time.Duration,
) {
	_, annotatedBefore := from.Annotations[argo.AnnotationKeyRefresh]
	if !annotatedBefore && from.Status.ReconciledAt == status.ReconciledAt && sameStatus(&from.Status, &status) {
		return
	}
	before := from.Status.Health.Status
	stored := c.w.api.edit(from.Name, func(app *argo.Application) {
		before = app.Status.Health.Status
		app.Status.Health = c.health(app, &from.Status, &status)
		app.Status.Sync, app.Status.Resources = status.Sync, status.Resources
		app.Status.ReconciledAt, app.Status.SourceHydrator = status.ReconciledAt, status.SourceHydrator
		if annotatedBefore {
			annotated(app, argo.AnnotationKeyRefresh, "")
		}
	})
	if stored {
		c.w.noticed(c.w.members[from.Name], status.Health.Status, before)
		maps.Copy(c.w.members[from.Name].resolvedAt, resolved)
		now := c.w.api.apps[from.Name]
		c.put(now)
		if !reflect.DeepEqual(now.Status.GetRevisions(), from.Status.GetRevisions()) {
			c.w.tell(Observation{Kind: Noticed, Application: from.Name, Text: strings.Join(now.Status.GetRevisions(), ",")})
		}
		if now.Status.Sync.Status != from.Status.Sync.Status ||
			!reflect.DeepEqual(now.Status.GetRevisions(), from.Status.GetRevisions()) ||
			now.Status.Health.Status != from.Status.Health.Status {
			c.w.logf("%s is compared: %s %s at %v", from.Name, now.Status.Sync.Status, now.Status.Health.Status,
				now.Status.GetRevisions())
		}
	}
}

// health has the time of the last transition, as in persistAppStatus: the time of the patch, if it changes the health
// of the copy that the comparison began with.
func (c *appController) health(app *argo.Application, from, status *argo.ApplicationStatus) argo.AppHealthStatus {
	h := argo.AppHealthStatus{Status: status.Health.Status, LastTransitionTime: app.Status.Health.LastTransitionTime}
	if from.Health.Status != h.Status || app.Status.Health.Status != h.Status {
		at := c.stamp(app.Name)
		h.LastTransitionTime = &at
	}
	return h
}

// put writes an Application that the controller has written into its cache. Up to 3.5 that takes a moment, and may
// overwrite what the watch has brought meanwhile, such as a request for a refresh.
func (c *appController) put(app *argo.Application) {
	if !c.w.traits.overlooks {
		c.cache.put(app)
		return
	}
	c.after(c.w.delay(3*time.Millisecond), func() {
		if c.w.api.apps[app.Name] != nil {
			c.cache.put(app)
		}
	})
}

// sameStatus leaves the time of the comparison out.
func sameStatus(a, b *argo.ApplicationStatus) bool {
	return a.Health.Status == b.Health.Status && reflect.DeepEqual(a.Sync, b.Sync) &&
		reflect.DeepEqual(a.SourceHydrator, b.SourceHydrator) && slices.Equal(a.Resources, b.Resources)
}
