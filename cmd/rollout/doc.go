// SPDX-License-Identifier: Apache-2.0

// Package rollout shows rollouts as they are: which step is at work, who is done, who waits, for whom and why. It reads
// with the webhook's own live reader and judges with its rule, so that it never disagrees with the gate. It only reads,
// and needs no webhook.
package rollout
