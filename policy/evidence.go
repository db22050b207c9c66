// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"
)

// Verification is what a step waits for: objects of the cluster that say yes to what the target deploys.
type Verification struct {
	// Step is 0-based.
	Step int
	// Object names them as people have written it, such as "analysisruns.argoproj.io/smoke".
	Object string
}

// Verify are the Verifications of an ApplicationSet.
type Verify struct {
	Of []Verification
	// Unreadable says why they cannot be read; empty if they can. Then every step waits until that is repaired.
	Unreadable string
}

// Has reports whether a step waits for evidence.
func (v *Verify) Has(step int) bool {
	of := func(v Verification) bool { return v.Step == step }
	return step >= 0 && (v.Unreadable != "" || slices.ContainsFunc(v.Of, of))
}

// Answer is what objects say about a revision. The zero value says nothing yet.
type Answer int

// The answers.
const (
	NoAnswer Answer = iota
	Yes
	No
)

// Finding is what the objects of one Verification say about one revision.
type Finding struct {
	Answer Answer
	// Detail names the object, and what it says, or says why there is no answer.
	Detail string
	// At is when the object was created; zero if it is about none.
	At time.Time
	// Each has what each object says, if there are several.
	Each []Finding
}

// Together is what objects say together: yes if all say yes, and no as soon as one says no. There is at least one.
func Together(each []Finding) Finding {
	all := each[0]
	for _, one := range each {
		if one.Answer == No {
			all = one
			break
		}
		if one.Answer != Yes && all.Answer == Yes {
			all = one
		}
	}
	if len(each) > 1 {
		all.Each = each
	}
	return all
}

// without is what the objects say without those that are too old to be about what would be deployed.
func (f Finding) without(old func(at time.Time) bool) Finding {
	each := f.Each
	if len(each) == 0 {
		each = []Finding{f}
	}
	young := slices.DeleteFunc(slices.Clone(each), func(one Finding) bool {
		return (one.Answer != NoAnswer || !one.At.IsZero()) && old(one.At)
	})
	if len(young) == 0 {
		return Finding{Detail: f.Detail + ", and was created before the spec changed"}
	}
	return Together(young)
}

// Evidence gives what is found for a Verification about what the target deploys, which is a text of ApprovalOf. Nil
// means that nobody has looked: nothing is verified then.
type Evidence func(v Verification, what string) Finding

// AskedLater lets the rule go on to what comes after the evidence: whoever uses it has to ask Verified after that.
func AskedLater(Verification, string) Finding {
	return Finding{Answer: Yes, At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Verified is the decision if the evidence counts: an allow without it is a denial.
func Verified(in Input, d Decision) Decision {
	if d.Outcome != Allow {
		return d
	}
	denied, ok := in.unverified(d)
	if !ok {
		return d
	}
	denied.Outcome, denied.Reason = Deny, Unverified
	return denied
}

// evidence is the first Verification of the step with an answer, or without one, and what is found for it.
func (in *Input) evidence(step int, answer Answer) (v Verification, found Finding, ok bool) {
	what := ApprovalOf(in.Target.Wanted)
	for _, v := range in.Settings.Conditions.Verify.Of {
		if v.Step != step {
			continue
		}
		switch {
		case in.Target.Operation.Foreign:
			found = Finding{Detail: "the operation brings manifests or sources of its own, about which nothing can speak"}
		case what == "":
			found = Finding{Detail: "the operation does not say which revision it deploys"}
		case in.Evidence == nil:
			found = Finding{Detail: "nobody has looked"}
		default:
			found = in.Evidence(v, what).without(in.predates)
		}
		if found.Answer == answer {
			return v, found, true
		}
	}
	return v, found, false
}
