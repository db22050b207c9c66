// SPDX-License-Identifier: Apache-2.0

// Package approval reads and writes the annotations of an ApplicationSet that say who has approved a step and who has
// paused it.
//
// Anybody who may write the ApplicationSet may write any text into its annotations. So an entry of Approved alone
// approves nothing. stepgate puts a stamp beside each new entry, with the user whom the API server has authenticated,
// and refuses stamps of anybody else.
//
// It reads no cluster and no clock. Package webhook calls it, when an ApplicationSet is written and when a sync is
// judged.
package approval
