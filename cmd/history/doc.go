// SPDX-License-Identifier: Apache-2.0

// Package history tells the rollouts that stepgate has written down in its ledger: when each step started and completed,
// what it waited for longest, who approved, what failed. `stepgate history`, the dashboard and the extension of Argo CD's
// UI show it. It only reads.
package history
