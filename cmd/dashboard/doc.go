// SPDX-License-Identifier: Apache-2.0

// Package dashboard serves rollouts to a browser on the same machine: the facts of `stepgate get`, `explain` and `audit`
// as JSON, and what `stepgate pause`, `resume` and `approve` do. It has no facts of its own.
package dashboard
