// SPDX-License-Identifier: Apache-2.0

package settings

import "github.com/stepgate/stepgate/webhook/argocd"

// Exemption is a way in which the annotations of an ApplicationSet take it out of the gate.
type Exemption struct {
	// Kind is off, audit, bypass or exclusion, as in the metric stepgate_exemption.
	Kind string
	// Detail says until when and why, or which Applications; empty for off and audit.
	Detail string
}

// Exemptions says in which ways the annotations of an ApplicationSet take it out of the gate now, and which of them
// cannot be read, or are not allowed. Where audit is the rule, it is no exemption.
func (p *Parser) Exemptions(set *argocd.ApplicationSet) (exempt []Exemption, problems []Problem) {
	s := p.Of(set)
	if s.Off {
		exempt = append(exempt, Exemption{Kind: "off"})
	}
	if s.Mode == Audit && p.config.Mode == Enforce {
		exempt = append(exempt, Exemption{Kind: "audit"})
	}
	if s.Bypassed {
		exempt = append(exempt, Exemption{Kind: "bypass", Detail: s.Bypass})
	}
	if s.Exclusion != "" {
		exempt = append(exempt, Exemption{Kind: "exclusion", Detail: s.Exclusion})
	}
	return exempt, s.Problems
}
