// SPDX-License-Identifier: Apache-2.0

// Package lint finds mistakes in ApplicationSets that roll out in steps: steps that select nothing or too much,
// settings that keep the ApplicationSet controller from starting a sync, and annotations of stepgate that do not parse.
// It reads no cluster; cmd/stepgate gives it objects, from files or live. It states what it could not check, and claims
// nothing that it cannot show.
package lint
