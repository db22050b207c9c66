// Package history tells the rollouts that stepgate has written down in its ledger: when each step started and completed,
// what it waited for longest, who approved, what failed. It only reads.
package history
