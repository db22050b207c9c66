// SPDX-License-Identifier: Apache-2.0

//go:build !race

package expression

// slower is 1 where nothing makes it slower.
const slower = 1
