// SPDX-License-Identifier: Apache-2.0

// Package course is the way of one write: it is pinned, stamped, judged, given one of the slots of its step, and held if
// its turn has not come. The Mutator, the Gate and previews take it, so that they never differ. It answers no request,
// and records nothing.
package course
