// SPDX-License-Identifier: Apache-2.0

// Package proof goes through all histories of a small world, up to a number of events, and looks for a sync that starts
// before its turn. The package random beside it plays long histories of large worlds, but only some of them.
//
// The world has three Applications in three steps and one repository, in which two commits land after the one that all run. It
// begins in three states: nothing is under way; the second commit has landed, and step 1 has completed it; step 2 has as well. Then
// come, in every order (moves.go):
//
//	a commit lands                        a sync begins, of whatever the rule admits, forward or back
//	an Application is compared            a sync ends: well, Progressing, failed, or failed in its hooks
//	a refresh is requested                stepgate restarts
//
// A wide plan has three more: dry runs, an Application that becomes Degraded and recovers, and a watch of stepgate that stalls
// and catches up, with all events or by a new list. A comparison may be of the newest commit or of the one before, come in the second
// in which the last sync ended, see the cluster as it was before that, or have begun before its end.
//
// Real are the rule (policy.Evaluate, policy.Candidates), what stepgate remembers (history.Record), its reading of Applications
// (argocd.Projection, argocd.Target), pins and stamps. Their glue (gate.go) is the one of package judge without JSON. Of 1024
// judgments, one is made by webhook.Mutator and webhook.Gate as well, on cluster.Histories that were told the same from the
// last restart on (process.go); a difference is a panic.
//
// A start is early if an Application of an earlier step has not completed the commit: a sync of it has succeeded there, it was Healthy
// with that, and no sync has gone back from it since, or does now (truth.go). It goes by git and the clusters, not by what Argo CD or
// stepgate believe. Nothing is early that deploys what is there, or by which a person goes back to what the Application has run.
//
// States that were seen before are cut off. Two states are the same if they differ only in the times of one
// Application, but for their order, or in the positions of events, but for the order of those that the rule holds against one another,
// or in who has started a sync (form.go). What stepgate remembers is read by reflection: a field that is added counts. Each 1024th time
// that a state is known, what is admitted there is judged again, and has to be the same.
//
// Abstracted: 12 s pass between two events, more than any time of the rule, or none where the list above says so. A sync
// is admitted and begins at one moment, and nobody asks for what is deployed and well. Each request is judged in each state, so a denial
// is no event; somebody asks for each commit, in vain, as soon as it is there. Argo CD notices health at once. Nobody asks how well an
// Application of the last step is. The status of the ApplicationSet stays as it was. There are no changes of specs, conditions, tracks,
// maxUpdate, hydrators, commits that touch a part of the Applications, branches that go back, and no second replica.
package proof
