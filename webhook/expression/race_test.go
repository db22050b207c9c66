// SPDX-License-Identifier: Apache-2.0

//go:build race

package expression

// slower is how much slower the race detector makes it.
const slower = 40
