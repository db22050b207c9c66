// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Evidence is what objects of the cluster say about revisions. evidence.Source is one.
type Evidence interface {
	// Known gives what is known for Verifications without a read.
	Known(all []settings.Verification) policy.Evidence
	// Read finds what objects say live about what is deployed, which is a text of policy.ApprovalOf. On an error there
	// is no decision.
	Read(ctx context.Context, v *settings.Verification, what string) (policy.Finding, error)
}

// KnownEvidence is what is known without a read for an ApplicationSet with these Settings; nil if nobody has looked.
func (j *Judge) KnownEvidence(s settings.Settings) policy.Evidence {
	if j.Evidence == nil || len(s.Verify) == 0 {
		return nil
	}
	return j.Evidence.Known(s.Verify)
}

// evaluate decides on live siblings, and then, where the step waits for evidence, on what that says live. open is what
// policy.Scope says of the input, without settling it.
func (j *Judge) evaluate(
	ctx context.Context, in policy.Input, s settings.Settings, open policy.Decision,
) (policy.Decision, error) {
	asked := in.Settings.Conditions.Verify.Has(open.Step) && in.Settings.Conditions.Verify.Unreadable == ""
	if asked {
		in.Evidence = policy.AskedLater
	}
	d, err := j.Live.Evaluate(ctx, in, open)
	if err != nil || !asked || d.Outcome != policy.Allow {
		return d, err
	}
	if in.Evidence, err = j.liveEvidence(ctx, in, s, d.Step); err != nil {
		return policy.Decision{}, err
	}
	return policy.Verified(in, d), nil
}

// liveEvidence reads what the objects say that a step waits for.
func (j *Judge) liveEvidence(
	ctx context.Context, in policy.Input, s settings.Settings, step int,
) (policy.Evidence, error) {
	what, read := policy.ApprovalOf(in.Target.Wanted), map[policy.Verification]policy.Finding{}
	if j.Evidence == nil || what == "" {
		return nil, nil
	}
	for _, v := range s.Verify {
		if v.Step != step {
			continue
		}
		found, err := j.Evidence.Read(ctx, &v, what)
		if err != nil {
			return nil, err
		}
		read[v.Verification] = found
	}
	return func(v policy.Verification, _ string) policy.Finding { return read[v] }, nil
}
