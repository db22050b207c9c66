package policy

import "slices"

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
}

// Evidence gives what is found for a Verification about what the target deploys, which is a text of ApprovalOf. Nil
// means that nobody has looked: nothing is verified then.
type Evidence func(v Verification, what string) Finding

// AskedLater lets the rule go on to what comes after the evidence: whoever uses it has to ask Verified after that.
func AskedLater(Verification, string) Finding { return Finding{Answer: Yes} }

// Verified is the decision if the evidence counts: an allow without it is a denial.
func Verified(in Input, d Decision) Decision {
	if d.Outcome != Allow {
		return d
	}
	for _, r := range []*waiting{&verifyFailed, &unverified} {
		if denied, ok := r.denies(&in, d); ok {
			denied.Outcome, denied.Reason = Deny, r.reason
			return denied
		}
	}
	return d
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
			found = in.Evidence(v, what)
		}
		if found.Answer == answer {
			return v, found, true
		}
	}
	return v, found, false
}
