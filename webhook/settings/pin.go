// SPDX-License-Identifier: Apache-2.0

package settings

import "fmt"

// Pin says to which revisions operations are pinned. The zero value is PinCompared.
type Pin int

const (
	// PinCompared pins to the revisions that Argo CD last compared the Application with.
	PinCompared Pin = iota
	// PinCandidate pins to the newest revision that the order and every condition of the step allow, where that is not
	// the compared one. A rollout then goes on while commits land faster than rollouts complete.
	PinCandidate
)

// qualified is an old name of PinCandidate.
const qualified = "qualified"

// ParsePin reads "compared" or "candidate"; "qualified" is "candidate". On any other text it returns PinCompared,
// together with an error that names the valid values.
func ParsePin(s string) (Pin, error) {
	if s == qualified {
		return PinCandidate, nil
	}
	for _, p := range []Pin{PinCompared, PinCandidate} {
		if s == p.String() {
			return p, nil
		}
	}
	return PinCompared, fmt.Errorf("%q is not one of compared, candidate", s)
}

// String is the text that ParsePin reads.
func (p Pin) String() string {
	if p == PinCandidate {
		return "candidate"
	}
	return "compared"
}
