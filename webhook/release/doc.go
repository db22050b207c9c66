// SPDX-License-Identifier: Apache-2.0

// Package release makes Argo CD ask again for the syncs whose turn has come, and compare again what holds up a sync
// only because it was compared too early. It admits nothing: the sync that is asked for is judged like any other.
package release
