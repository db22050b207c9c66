// SPDX-License-Identifier: Apache-2.0

package settings

import "fmt"

// Mode says whether a denial stops the write. The zero value is the strictest.
type Mode int

const (
	// Enforce rejects the write.
	Enforce Mode = iota
	// Audit admits the write and records the denial.
	Audit
	// Off does not evaluate at all. It can be set on an ApplicationSet only.
	Off
)

// ParseMode reads "enforce", "audit" or "off". On any other text it returns Enforce, the strictest, together with an
// error that names the valid values.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{Enforce, Audit, Off} {
		if s == m.String() {
			return m, nil
		}
	}
	return Enforce, fmt.Errorf("%q is not one of enforce, audit, off", s)
}

// String is the text that ParseMode reads.
func (m Mode) String() string {
	switch m {
	case Audit:
		return "audit"
	case Off:
		return "off"
	case Enforce:
	}
	return "enforce"
}
