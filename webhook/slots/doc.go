// SPDX-License-Identifier: Apache-2.0

// Package slots keeps maxUpdate: whoever starts the sync of an Application takes one of the slots of its step, by
// compare-and-swap on one object for each ApplicationSet, and the live state of the Application frees it. It judges
// nothing: the handlers ask it about writes that the rule allows. Where it cannot read or write there is no decision.
package slots
