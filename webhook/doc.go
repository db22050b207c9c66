// SPDX-License-Identifier: Apache-2.0

// Package webhook takes one admission request from its objects to the answer: decode, read live, evaluate the rule,
// answer, record. Package webhook/server serves it over HTTPS.
//
// A rule's verdict is answered with HTTP 200 and response.go words it. A failure of stepgate or of its reads is never a
// verdict: it is answered with HTTP 503, so that the webhook's failurePolicy stays the only place that says fail-closed
// or fail-open. Recording (metrics, logs, Events) can neither delay nor change an answer.
package webhook
