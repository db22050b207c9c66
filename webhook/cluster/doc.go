// SPDX-License-Identifier: Apache-2.0

// Package cluster reads what a decision rests on, live from the API server: the ApplicationSet and the sibling
// Applications. It evaluates nothing: package webhook does.
//
// Every live read leaves resourceVersion unset, so it is linearizable: it sees everything that was written before it
// began. A read error, a timeout or a partial answer is returned as an error, and is never a decision.
package cluster
