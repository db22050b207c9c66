// SPDX-License-Identifier: Apache-2.0

// Package random draws random histories for the simulation, plays many of them, and shrinks those that show a
// violation. It is apart from the model because rapid belongs to tests: stepgate simulate plays the model, and must not
// bring rapid's flags along.
package random
