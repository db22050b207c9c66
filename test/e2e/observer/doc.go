// SPDX-License-Identifier: Apache-2.0

// Package observer judges from the outside whether a rollout went in order. It has a watch of Applications and
// nothing else, and shares no code with the gate: it does not know the gate's rule, its words or its answers.
package observer
