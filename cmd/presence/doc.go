// SPDX-License-Identifier: Apache-2.0

// Package presence tells whether a gate answers for a namespace: which webhook the API server calls, what its
// namespaceSelector takes, and whether a replica is ready. What cannot be read is not known, and no reason to say that
// there is no gate. It calls no gate. The command line reads once, and a Watch of the reporter again and again.
package presence
