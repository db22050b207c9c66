// SPDX-License-Identifier: Apache-2.0

//go:build race

package webhook

// raced says that the race detector is at work: everything takes many times as long.
const raced = true
