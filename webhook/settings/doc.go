// SPDX-License-Identifier: Apache-2.0

// Package settings says how an ApplicationSet is gated: it merges the flags of an installation with the annotations of
// the ApplicationSet, and with the bypass that an operation asks for. It reads nothing. Text that clients chose leaves
// it on one line, printable and of bounded length.
//
// Whoever judges a write parses once, and hands the Settings on.
package settings
