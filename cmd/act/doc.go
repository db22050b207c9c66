// SPDX-License-Identifier: Apache-2.0

// Package act does what `stepgate pause`, `resume` and `approve` do to an ApplicationSet, and says so. It changes
// annotations that stepgate's webhook judges, and decides nothing itself. The command line, its dashboard and the
// extension of Argo CD's UI call it.
package act
