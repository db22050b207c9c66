// SPDX-License-Identifier: Apache-2.0

// Package record tells operators what became of writes: log lines, metrics, Events, what is exempt, and what waits. It
// never delays or changes an answer, and never decides.
package record
