// SPDX-License-Identifier: Apache-2.0

// Package outlook says what becomes of an ApplicationSet: what is decided about the sync that each of its Applications
// waits for, at one moment, by what is known without a read. What releases and what shows rollouts look at it. It admits
// nothing, and writes nothing.
package outlook
