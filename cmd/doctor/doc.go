// SPDX-License-Identifier: Apache-2.0

// Package doctor says whether the gate really works in a cluster. Gather reads the cluster into Facts, with the error
// beside everything that could not be read. The checks are functions of Facts, so that one right that is missing costs
// one check and no other.
//
// It writes nothing: what it tries are server dry-runs. Only Apply changes the cluster, and only as its caller has been
// told to.
package doctor
