// SPDX-License-Identifier: Apache-2.0

// Package command is what stepgate's two programs have in common: how a command line is executed, its exit codes, and
// the version.
package command
