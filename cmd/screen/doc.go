// SPDX-License-Identifier: Apache-2.0

// Package screen lays text out for a terminal: colours, tables and wrapped lines of a known width. All commands that
// answer questions print with it. It knows nothing of Argo CD.
package screen
