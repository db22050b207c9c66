package settings

import "fmt"

// Pin says to which revisions operations are pinned. The zero value is PinCompared.
type Pin int

const (
	// PinCompared pins to the revisions that Argo CD last compared the Application with.
	PinCompared Pin = iota
	// PinQualified pins to the newest revision that the order and every condition of the step allow, where that is not
	// the compared one. A rollout then goes on while commits land faster than rollouts complete.
	PinQualified
)

// proven is the name that PinQualified had before it looked at conditions.
const proven = "proven"

// ParsePin reads "compared" or "qualified"; "proven" is "qualified". On any other text it returns PinCompared,
// together with an error that names the valid values.
func ParsePin(s string) (Pin, error) {
	if s == proven {
		return PinQualified, nil
	}
	for _, p := range []Pin{PinCompared, PinQualified} {
		if s == p.String() {
			return p, nil
		}
	}
	return PinCompared, fmt.Errorf("%q is not one of compared, qualified", s)
}

// String is the text that ParsePin reads.
func (p Pin) String() string {
	if p == PinQualified {
		return "qualified"
	}
	return "compared"
}
