// SPDX-License-Identifier: Apache-2.0

// Package skew starts a program whose clock differs from the clock of the machine.
//
// A library that is preloaded cannot do this: a Go program reads the clock from the vDSO, the code that the kernel maps
// into every process. A time namespace shifts no real time. So this package replaces the function of the vDSO in the
// new process, before its first instruction.
package skew
