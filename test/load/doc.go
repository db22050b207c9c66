// SPDX-License-Identifier: Apache-2.0

// Package load writes Applications as an Argo CD does, to a real API server. It knows the right answer to every write,
// and counts the wrong ones.
package load
