// SPDX-License-Identifier: Apache-2.0

package course

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
)

// CandidatesInfo is the name of the operation.info entry of a server dry run to which the mutating webhook answers with
// a warning for each candidate, newest first: it alone knows what the earlier steps have completed.
const CandidatesInfo = "stepgate.io/candidates"

// CandidateWarning begins each of them; the rest is a Candidate as JSON.
const CandidateWarning = "stepgate candidate: "

// mostCandidates bounds the warnings: an API server passes on 4 KiB of them.
const mostCandidates = 12

// Candidate is something that an Application could deploy, and what the gate says of it.
type Candidate struct {
	// Revisions are those of its sources, cut to 7 characters where there are several.
	Revisions []string `json:"revisions"`
	// Approval is the text that approves it; empty if that is the revision.
	Approval string `json:"approval,omitempty"`
	// Compared says that Argo CD last compared the Application with it, and Next that this is what is deployed next.
	Compared bool `json:"compared,omitempty"`
	Next     bool `json:"next,omitempty"`
	// Reason is why it is not deployed now; empty if it may be. Blocker is the first Application that it waits for, Detail
	// what is missing there, and Until is when that ends, if it is known.
	Reason  policy.Reason `json:"reason,omitempty"`
	Detail  string        `json:"detail,omitempty"`
	Blocker string        `json:"blocker,omitempty"`
	Until   *time.Time    `json:"until,omitempty"`
}

// Candidates are what the target of an input could deploy, newest first, by what is known without a read.
func (c *Course) Candidates(in policy.Input) (shown []Candidate) {
	in.Siblings = judge.InSteps(in.ApplicationSet, c.Known.Owned(types.UID(in.ApplicationSet.UID)))
	all := policy.Candidates(in)
	best, _ := policy.Best(all)
	for _, one := range all[:min(len(all), mostCandidates)] {
		shown = append(shown, candidateOf(&one, &best))
	}
	return shown
}

func candidateOf(c, best *policy.Candidate) Candidate {
	shown, approval := Candidate{Revisions: c.Revisions(), Compared: c.Compared}, policy.ApprovalOf(c.Sources)
	shown.Next = approval == policy.ApprovalOf(best.Sources)
	if len(shown.Revisions) > 1 {
		shown.Approval = approval
		for i, revision := range shown.Revisions {
			shown.Revisions[i] = policy.Short(revision)
		}
	}
	if c.Outcome != policy.Deny {
		return shown
	}
	shown.Reason = c.Reason
	if len(c.Blockers) > 0 {
		shown.Blocker, shown.Detail = c.Blockers[0].Application, c.Blockers[0].Detail
	}
	if !c.NotBefore.IsZero() {
		until := c.NotBefore.UTC()
		shown.Until = &until
	}
	return shown
}
