// SPDX-License-Identifier: Apache-2.0

// Package audit finds rollouts of the past in which a later step deployed a change before an earlier one. It knows
// nothing but the Applications as they are now, with the syncs that status.history and status.operationState record. It
// needs the right to list ApplicationSets and Applications, and writes nothing.
//
// # Method
//
// A rollout is one revision of one source key (repository, chart and targetRevision; see package argocd). Its members
// are the Applications of one ApplicationSet that have a record of the revision; the first record of each counts. Two
// members of different steps are compared: the later one is out of order if its sync started before the sync of the
// earlier one had finished, by at least one second, which is the resolution of the records, and if nothing else can
// explain the records. Each other explanation is a Reason, and makes the pair unclear:
//
//   - A sync that waits for a sync window, or is retried, keeps the time of its first start and may resolve the revision later. So an
//     overlap counts only if the later step finished first, or started while the earlier one was syncing that revision.
//   - A commit that does not touch an Application needs no sync. If the Application is synced at that revision later, for another
//     reason, it only looks late. A sync by hand, or one with other changes of its sources, is no proof that it was late. An
//     Application without any record of the revision is left out.
//   - Argo CD keeps the newest records only (spec.revisionHistoryLimit). An older one may have had the revision before.
//
// History entries are written by persistRevisionHistory of argo-cd v3.5.7, controller/state.go, which SyncAppState in
// controller/sync.go calls for a full sync that succeeded and was no dry run.
package audit
