// SPDX-License-Identifier: Apache-2.0

package server

// shares divide something among remote addresses, such as memory in bytes.
type shares struct {
	// times is how many times as much as it leaves free an address may have.
	times int64
	free  int64
	held  map[string]int64 // by remote address
}

func newShares(times, free int64) shares {
	return shares{times: times, free: free, held: map[string]int64{}}
}

// fits reports whether n more are within the share of an address.
func (s *shares) fits(address string, n int64) bool { return s.held[address]+n <= s.times*(s.free-n) }

func (s *shares) take(address string, n int64) {
	s.free -= n
	s.held[address] += n
}

// discount has n count for an address no more. They are not free yet.
func (s *shares) discount(address string, n int64) {
	if s.held[address] -= n; s.held[address] == 0 {
		delete(s.held, address)
	}
}

// give gives n back.
func (s *shares) give(address string, n int64) {
	s.discount(address, n)
	s.free += n
}
