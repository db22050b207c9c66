// SPDX-License-Identifier: Apache-2.0

package policy

// Unverified means that nothing has said yes to what would be deployed, or that something has said no.
const Unverified Reason = "Unverified"

var unverified = waiting{
	row: row{
		reason: Unverified,
		means: "The annotation `stepgate.io/verify` names an object for this step, and none [says yes](evidence.md) " +
			"to what the sync would deploy, or one says no. The text has its name and what it says, what is " +
			"missing, or what keeps stepgate from reading it.",
		do: "wait until it says yes, or see why nobody makes it. If it says no, deploy another revision, or " +
			"repair what failed, and delete that object so that it is made again.",
		level:     RequireHealth,
		when:      "an object that its step waits for says no to what it deploys, or none says yes",
		condition: true,
		words: func(d Decision) (text, next string) {
			if d.Refused {
				return d.of() + " may not deploy this (Unverified: " + d.Detail + ")",
					"deploy another revision, or have it verified again"
			}
			return d.of() + " is not verified (Unverified: " + d.Detail + ")", "wait for it, or see why it does not come"
		},
	},
	denies: (*Input).unverified,
}

// unverified reports whether one of the Verifications of the step says no, or has no answer.
func (in *Input) unverified(d Decision) (denied Decision, ok bool) {
	if v, found, no := in.evidence(d.Step, No); no {
		d.Detail, d.Refused = v.says(found), true
		return d, true
	}
	verify := &in.Settings.Conditions.Verify
	if d.Step >= 0 && verify.Unreadable != "" {
		d.Detail = "the annotation stepgate.io/verify cannot be read: " + verify.Unreadable
		return d, true
	}
	v, found, ok := in.evidence(d.Step, NoAnswer)
	d.Detail = v.says(found)
	return d, ok
}

// says is what is found for a Verification, for texts.
func (v Verification) says(found Finding) string {
	return Printable(v.Object, maxText) + ": " + Printable(found.Detail, maxText)
}
