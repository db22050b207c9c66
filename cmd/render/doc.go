// SPDX-License-Identifier: Apache-2.0

// Package render makes the Applications of an ApplicationSet from its text, with Argo CD's own generators, templates and
// templatePatch. It asks no cluster and no network: generators that need one give Params that are open, of which Text
// says what can be known. lint and simulate read ApplicationSets with it.
package render
