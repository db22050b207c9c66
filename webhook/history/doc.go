// SPDX-License-Identifier: Apache-2.0

// Package history knows the past of each Application: what it has completed, what it is deployed with, and how new its
// comparison is.
//
// The API server keeps the present only, and Argo CD's own history does not tell whether a sync made an Application
// Healthy. So a Record is made from what the watch of Applications tells, event after event. Nothing of it is stored.
// After a restart a Record begins with the object as it is: what runs now may be completed, what ran before is not
// known to be, and a decision is stricter until that was seen again. "What a restart forgets" in docs/rule.md
// lists it.
//
// Events may be missing, as when a watch lists again. What was not seen never counts as completed.
package history
