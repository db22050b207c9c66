package settings

import "fmt"

// Pin says to which revisions operations are pinned. The zero value is PinCompared.
type Pin int

const (
	// PinCompared pins to the revisions that Argo CD last compared the Application with.
	PinCompared Pin = iota
	// PinProven pins to the newest revision that every Application of every earlier step has completed, where the
	// compared one has not got that far. A rollout then goes on while commits land faster than rollouts complete.
	PinProven
	// PinOff pins nothing. A commit that lands after the decision is deployed unchecked.
	PinOff
)

// ParsePin reads "compared", "proven" or "off". On any other text it returns PinCompared, together with an error that
// names the valid values.
func ParsePin(s string) (Pin, error) {
	for _, p := range []Pin{PinCompared, PinProven, PinOff} {
		if s == p.String() {
			return p, nil
		}
	}
	return PinCompared, fmt.Errorf("%q is not one of compared, proven, off", s)
}

// String is the text that ParsePin reads.
func (p Pin) String() string {
	switch p {
	case PinProven:
		return "proven"
	case PinOff:
		return "off"
	case PinCompared:
	}
	return "compared"
}
