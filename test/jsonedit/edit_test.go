// SPDX-License-Identifier: Apache-2.0

package jsonedit_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/jsonedit"
)

// TestEdit wants of bytes what they make of two documents. A place is chosen first: by document, then by path.
func TestEdit(t *testing.T) {
	const first, second = `{"a":{"list":["1","2"]},"b":"x"}`, `{"a":{"text":"t"}}`
	for name, tc := range map[string]struct {
		choices []byte
		want    [2]string
	}{
		"no bytes, no edits":                 {nil, [2]string{first, second}},
		"the list is reversed":               {[]byte{0, 1, 0, 0, 0, 0}, [2]string{`{"a":{"list":["2","1"]},"b":"x"}`, second}},
		"the list loses its last value":      {[]byte{0, 1, 0, 0, 0, 2}, [2]string{`{"a":{"list":["1"]},"b":"x"}`, second}},
		"the list is removed":                {[]byte{0, 1, 0, 1, 0, 0}, [2]string{`{"a":{},"b":"x"}`, second}},
		"a value of the list is removed":     {[]byte{0, 2, 0, 0}, [2]string{`{"a":{"list":["2"]},"b":"x"}`, second}},
		"null is planted":                    {[]byte{0, 5, 0, 1}, [2]string{first, `{"a":{"text":null}}`}},
		"a value is copied between the two":  {[]byte{0, 5, 0, 1, 0, 0, 0, 4}, [2]string{first, `{"a":{"text":"1"}}`}},
		"a given value is planted":           {[]byte{0, 5, 0, 1, 0, 0, 0, 3}, [2]string{first, `{"a":{"text":"given"}}`}},
		"a value of another type is planted": {[]byte{0, 5, 0, 1, 0, 9, 0, 3}, [2]string{first, `{"a":{"text":true}}`}},
		"what is not within is not edited":   {[]byte{0, 6, 0, 1}, [2]string{`{"a":null,"b":"x"}`, second}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			edited, err := jsonedit.Editor{
				Within: []string{"a"}, Values: []any{"given"},
			}.Edit(tc.choices, []byte(first), []byte(second))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(edited[0])).To(MatchJSON(tc.want[0]))
			g.Expect(string(edited[1])).To(MatchJSON(tc.want[1]))
		})
	}
}
