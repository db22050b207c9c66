// SPDX-License-Identifier: Apache-2.0

// Package rollouts writes the log of an ApplicationSet's rollouts: one rollout is one revision of one source on its way
// through the steps. Each look adds to the log what the Applications show now: a replica that begins later goes on where
// another one ended, and what nobody saw is not in it. No decision looks at the log.
//
// Two things are no rollout: a change of the template alone, which has no revision, and a commit that changes nothing of
// any Application, which nobody syncs.
package rollouts
