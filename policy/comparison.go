// SPDX-License-Identifier: Apache-2.0

package policy

// Comparison is which comparison by Argo CD may end what holds a sync up.
type Comparison int

const (
	// NoComparison ends it.
	NoComparison Comparison = iota
	// AnotherRevision may: the branch may point there by now. Argo CD notices that by itself, unless polling is switched
	// off.
	AnotherRevision
	// CompareAgain means that the Application was only compared too early.
	CompareAgain
	// CompareSettled means the same of one whose operation has just ended: up to 3.5 Argo CD may overlook a request for a
	// refresh at that moment.
	CompareSettled
)

// Stale reports whether only a comparison is missing: a refresh may end it.
func (c Comparison) Stale() bool { return c == CompareAgain || c == CompareSettled }
