// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps what matters of the past in ConfigMaps of stepgate's own namespace: what each Application has
// completed, and a log of the last rollouts of each ApplicationSet. One replica writes it, and every replica reads it at
// its start and follows it.
//
// It says what a watch of stepgate has seen, and no more. What is lost, unreadable, of another version or of another
// object counts for nothing: stepgate is then as strict as without it. Even what is read counts only as far as the
// Application shows that nothing has invalidated it since: see history.Kept.
//
// It never decides, and no decision waits for it.
package ledger
