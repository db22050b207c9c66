// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"
)

// TestAWaveMayBe0 or less, and none is neither.
func TestAWaveMayBe0(t *testing.T) {
	for text, want := range map[string]*int{
		"": nil, "--step 3": ptr.To(3), "--step 0": ptr.To(0), "--step=0": ptr.To(0), "--step -1": ptr.To(-1),
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			f := pflag.NewFlagSet("approve", pflag.ContinueOnError)
			step := numberFlag(f, "step", "")
			g.Expect(f.Parse(strings.Fields(text))).To(Succeed())
			g.Expect(step()).To(Equal(want))
		})
	}
}
