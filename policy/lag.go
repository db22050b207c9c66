// SPDX-License-Identifier: Apache-2.0

package policy

import "time"

// ClusterLag is how long after an operation Argo CD may compare with what it saw of the cluster before. Usually that is a
// fraction of a second. A comparison that finds an Application Synced with what was deployed has seen it.
const ClusterLag = 5 * time.Second

// ShownAfter is the second that a comparison has to be later than, so that it shows what the sync has changed in the
// cluster although it finds the Application OutOfSync.
func (s *LastSync) ShownAfter() time.Time { return s.FinishedAt.Add(ClusterLag) }

// ShownBy reports whether a comparison of that time shows, even where it finds the Application OutOfSync, what the sync
// has changed in the cluster.
func (s *LastSync) ShownBy(comparedAt time.Time) bool { return comparedAt.After(s.ShownAfter()) }

// Unseen reports whether Argo CD may not have seen yet what the last sync has changed in the cluster: it finds the
// Application OutOfSync with what that has deployed, soon after.
func (a *Application) Unseen() bool {
	return a.SyncStatus != "Synced" && a.LastSync.AtCompared && !a.LastSync.ShownBy(a.ReconciledAt)
}

// sameSecond compares at the resolution of Argo CD's times.
func sameSecond(a, b time.Time) bool {
	return !a.IsZero() && a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}
