// SPDX-License-Identifier: Apache-2.0

package lint

import "fmt"

// Severity says how bad a finding is.
type Severity int

// The severities, the least one first.
const (
	// Note tells what Argo CD does with a setting that is easily read in another way.
	Note Severity = iota
	// Warning is a setting that probably does something else than it was written for.
	Warning
	// Error is a setting that cannot do what it was written for.
	Error
)

// Severities are all of them, the worst first.
func Severities() []Severity { return []Severity{Error, Warning, Note} }

// ParseSeverity reads "error", "warning" or "note".
func ParseSeverity(text string) (Severity, error) {
	for _, s := range Severities() {
		if text == s.String() {
			return s, nil
		}
	}
	return Note, fmt.Errorf("%q is not one of error, warning, note", text)
}

// String is the text that ParseSeverity reads.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Note:
	}
	return "note"
}

// MarshalText makes it a text in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
