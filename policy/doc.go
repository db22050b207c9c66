// SPDX-License-Identifier: Apache-2.0

// Package policy is the rule: given an operation write, its ApplicationSet and the live siblings, may the sync start?
//
// It is pure. It imports the standard library only, reads no clock, no network and no file, logs nothing and returns
// no error: the same Input always gives the same Decision, to the byte. Argo CD objects are projected into its types
// by package siblings; package webhook calls Evaluate and turns the Decision into an answer.
package policy
