// SPDX-License-Identifier: Apache-2.0

package random

import (
	"testing"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// BenchmarkHistory is one random history after the other.
func BenchmarkHistory(b *testing.B) {
	p, g := simulation.NewPlayer(), Histories("3.5")
	for i := range b.N {
		p.Play(g.Example(i+1), nil)
	}
}
