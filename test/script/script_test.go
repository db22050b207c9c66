// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		step func()
		want string
	}{
		"every step succeeds":          {func() { Must(nil); Mustf(nil, "text"); Get(1, nil) }, ""},
		"a step fails":                 {func() { Must(errors.New("broken")) }, "broken"},
		"a step fails, with a text":    {func() { Mustf(errors.New("broken"), "step %d", 2) }, "step 2: broken"},
		"a value is missing":           {func() { Get(1, errors.New("broken")) }, "broken"},
		"a step says why it failed":    {func() { Fail("not %s", "there") }, "not there"},
		"a step of an inner Run fails": {func() { Must(Run(func() { Fail("inner") })) }, "inner"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			went := false
			err := Run(func() { tc.step(); went = true })
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(went).To(BeTrue())
				return
			}
			g.Expect(err).To(MatchError(tc.want))
			g.Expect(went).To(BeFalse(), "the steps go on")
		})
	}
}

func TestRunLeavesOtherPanicsAlone(t *testing.T) {
	NewWithT(t).Expect(func() { _ = Run(func() { panic("a bug") }) }).To(PanicWith("a bug"))
}
