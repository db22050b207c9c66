package simulation

import "testing"

// BenchmarkHistory is one random history after the other.
func BenchmarkHistory(b *testing.B) {
	p, g := NewPlayer(), Histories("3.5")
	for i := range b.N {
		p.Play(g.Example(i+1), nil)
	}
}
