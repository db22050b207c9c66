// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
)

// Write is an operation write as the API server sends it to admission. Old is nil when the Application is being
// created.
type Write struct {
	Old, New *argo.Application
	By       string
}

// Verdict is what became of a Write.
type Verdict struct {
	Allowed bool
	Reason  policy.Reason
	Message string
	// Blockers are the audit annotation: "dev=NotCompleted,qa=NotHealthy".
	Blockers string
}

func (v Verdict) String() string {
	if v.Allowed {
		return "admitted, " + string(v.Reason)
	}
	return "refused, " + v.Message
}

// Gate is stepgate as the world meets it. It may look at the world as a real stepgate can: by watches, which lag, and
// by live reads.
//
// A gate that also mutates (a pin, a hold) replaces w.New before it is stored: see Mutate. One that asks for refreshes
// or releases does so by writing the annotation, some time after the answer: see stepgate.go.
type Gate interface {
	// Mutate may change the operation of a write, before Decide: pin it, or put the old one back (hold). It returns
	// what is decided on and stored.
	Mutate(w Write) *argo.Application
	Decide(w Write) Verdict
	// Restart loses what one replica remembers.
	Restart(replica int)
	// Kill makes all replicas start again without a last word.
	Kill()
}

// noGate is Argo CD alone.
type noGate struct{}

func (noGate) Mutate(w Write) *argo.Application { return w.New }
func (noGate) Decide(Write) Verdict             { return Verdict{Allowed: true, Reason: "NoGate"} }
func (noGate) Restart(int)                      {}
func (noGate) Kill()                            {}
