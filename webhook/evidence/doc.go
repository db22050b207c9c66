// SPDX-License-Identifier: Apache-2.0

// Package evidence reads what objects of the cluster say about a revision: an AnalysisRun, a Job, or whatever has a
// status. It asks no provider of metrics; a controller of somebody else does, and writes what it found.
//
// Whoever may create or label such an object decides what is deployed.
package evidence
