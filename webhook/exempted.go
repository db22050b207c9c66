package webhook

import (
	"time"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// Exemption is a way in which the annotations of an ApplicationSet take it out of the gate.
type Exemption struct {
	// Kind is off, audit, bypass or exclusion, as in the metric stepgate_exemption.
	Kind string
	// Detail says until when and why, or which Applications; empty for off and audit.
	Detail string
}

// ExemptionsOf says how the annotations of an ApplicationSet take it out of a gate with this configuration now, and which of them that
// gate cannot read or does not allow. It is for those who look from outside; the gate itself has the same answer in its metrics.
func ExemptionsOf(config Config, set *argocd.ApplicationSet, now time.Time) (exempt []Exemption, invalid []string) {
	g := &Gate{config: config, Dependencies: Dependencies{Now: func() time.Time { return now }}}
	s := g.annotated(set)
	details := map[string]string{"bypass": s.bypass, "exclusion": s.excluded}
	for _, kind := range g.exemptionsOf(set) {
		exempt = append(exempt, Exemption{Kind: kind, Detail: printable(details[kind])})
	}
	for _, m := range s.malformed {
		invalid = append(invalid, m.annotation+" is "+printable(m.problem))
	}
	return exempt, invalid
}
