// SPDX-License-Identifier: Apache-2.0

// Package upstream compares package policy with argo-cd's own code, on random input. It holds tests only, in a room of
// its own because they need Argo CD and policy does not.
package upstream
