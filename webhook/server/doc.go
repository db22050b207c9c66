// SPDX-License-Identifier: Apache-2.0

// Package server serves admission handlers over HTTPS: bytes, TLS, limits, deadlines and draining. A handler is any
// admission.Handler of controller-runtime, and each has a path of its own.
//
// The package knows no rule and imports nothing else of stepgate. It differs from controller-runtime's own server in
// one point: a failure is never answered with a review, because an API server takes a review that does not allow as a
// rejection even where failurePolicy is Ignore. A failure is an HTTP error, so that failurePolicy decides. See
// failureOf.
package server
