package webhook

import (
	"errors"

	"sigs.k8s.io/json"
)

// decode refuses a name that an object has twice: decoders differ in which of the two they keep.
func decode(raw []byte, into any) error {
	strict, err := json.UnmarshalStrict(raw, into, json.DisallowDuplicateFields)
	return errors.Join(append(strict, err)...)
}
