// SPDX-License-Identifier: Apache-2.0

package main

// ofLedger are the parts of what a replica believes of the ledger at its start. They are looked for in histories with it.
func ofLedger() []part {
	return in("-ledger", []part{
		take("Resumed", "webhook/history/kept.go", `if !steady {`, `if false && !steady {`, `case known && steady:`, `case true:`),
	})
}
