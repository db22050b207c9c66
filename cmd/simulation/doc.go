// SPDX-License-Identifier: Apache-2.0

// Package simulation plays rollouts in virtual time, many random ones, and looks for three things that must not happen:
// an Application that starts to sync before its turn, or while its step waits for a condition (see Early), one that
// hangs because of the gate (see Player.Play), and one that starts long after its condition is met (see Start). All are
// judged by what is true in git and in the clusters, and by what users have asked for, not by what Argo CD or the gate
// believe.
//
// Real are upstream's progressivesync.Manager, Argo CD's types with their Equals, and stepgate: webhook.Gate and
// webhook.Mutator with cluster.Reader and policy, through admission requests in JSON, and release.Releaser
// (stepgate.go). Modelled, after argo-cd v3.5.7, are
//
//	set.go        Reconcile, createOrUpdateInCluster, deleteInCluster and the event predicates of the ApplicationSet controller
//	              (applicationset/controllers/applicationset_controller.go), its client, which writes into its own cache
//	              (applicationset/utils/client.go), and the back-off of its work queue
//	manager.go    setAppSetApplicationStatus, with conflicts
//	refresh.go    the refresh queue of the application controller: needRefreshAppStatus (controller/appcontroller.go)
//	compare.go    the three levels of a comparison, the repo-server's memory of refs, persistReconciliationStatus
//	cluster.go    what the clusters have, and the application controller's cache of them, which may be behind
//	operation.go  the operation queue: processRequestedAppOperation, SyncAppState, retries, sync windows, history (controller/sync.go)
//	layout.go     the source hydrator, roughly
//	stepgate.go   what stepgate runs in the background: the watch, when the Releaser looks, refresh requests
//	traits.go     how other versions of Argo CD differ, with barrier.go for 3.6 and legacy.go for 3.2
//	play.go       what users, git servers and clusters do
//	conditions.go what users ask of steps beside the order, by annotations of the ApplicationSet; approvals.go has their approvals
//	evidence.go   objects that say yes or no to a revision, and who makes them; verified.go has how stepgate reads them
//	chain.go      ApplicationSets that come after others
//	waves.go      sync waves in place of the steps of RollingSync, also of a parent's children, and automated sync
//	unmet.go      which of that does not hold, with failures.go, proof.go (soak times) and late.go
//
// The API server is a map with resource versions and watches that lag; a merge patch keeps what the writer did not see.
// An admission takes no time: what changes between the reads of the gate and the write is not modelled.
//
// Random histories have three steps without maxUpdate; stepgate simulate plays others, as Player.Rehearse (observe.go,
// rehearse.go).
//
// Sync windows are the world's: the library that stepgate asks in truth reads the real clock. The gate learns through
// webhook.SyncWindows whether the one of an Application is closed, and when it opens. Stamps of approvals are written
// as stepgate's webhook for ApplicationSets does, which is not called. Evidence is read by the real evidence.Reader;
// its watch, and the creation of AnalysisRuns, are modelled. Where the clock of an application controller is behind, a
// soak time may be short by as much, and by no more.
//
// Not modelled: self-heal, syncs of a parent, resource hooks and waves in their order within a sync, syncs of
// some resources of several that differ, Applications without an ApplicationSet or a parent, Helm and OCI repositories, projects and their errors, errors of the
// API server, of repositories and of the validating webhook, controllers that lose their queue in the middle of a
// Reconcile, and server-side apply.
package simulation
