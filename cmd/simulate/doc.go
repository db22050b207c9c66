// SPDX-License-Identifier: Apache-2.0

// Package simulate plays a rollout of an ApplicationSet offline and tells who starts when, who waits for whom and why,
// and what people would read. It plays the model of package simulation: Argo CD's own code for progressive syncs, a
// model of its controllers in virtual time, and the real gate. It reads no cluster and no clock; the same input gives
// the same text. Only stepgate simulate calls it.
package simulate
