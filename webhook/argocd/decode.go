// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"errors"
	"fmt"

	"sigs.k8s.io/json"
)

// Bounds of one part of an Application: [{},{},{}] takes a hundred times the memory of its text. Argo CD cannot handle
// a sync of that many resources, nor a history of that length.
const (
	maxObjects = 20_000
	maxValues  = 200_000
)

// mostTexts bounds the labels, and the annotations, of an object: a short one takes ten times the memory of its text.
const mostTexts = 5_000

// texts are labels or annotations.
type texts map[string]string

// UnmarshalJSON decodes a bounded number.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if _, values := count(raw); values >= mostTexts {
		return fmt.Errorf("it has more than %d labels or annotations", mostTexts)
	}
	if err := decode(raw, (*map[string]string)(t)); err != nil {
		return fmt.Errorf("labels or annotations: %w", err)
	}
	return nil
}

// decode refuses a name that an object has twice: decoders differ in which of the two they keep.
func decode(raw []byte, into any) error {
	strict, err := json.UnmarshalStrict(raw, into, json.DisallowDuplicateFields)
	return errors.Join(append(strict, err)...)
}

// decodeBounded decodes a part of an Application, which may be absent.
func decodeBounded(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := bounded(raw); err != nil {
		return err
	}
	return decode(raw, into)
}

func bounded(raw []byte) error {
	if objects, values := count(raw); objects > maxObjects || values > maxValues {
		return fmt.Errorf("a part of it has %d JSON objects and %d values, more than %d or %d", objects, values, maxObjects,
			maxValues)
	}
	return nil
}

// count counts the JSON objects, and the values that follow another one, in a text. Its strings are left out.
func count(raw []byte) (objects, values int) {
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case c == '\\':
			i++
		case c == '{' && !inString:
			objects++
		case c == ',' && !inString:
			values++
		}
	}
	return objects, values
}
