package policy

// Unverified means that nothing has said yes to what would be deployed.
const Unverified Reason = "Unverified"

var unverified = waiting{
	row: row{
		reason:    Unverified,
		level:     RequireHealth,
		when:      "the step waits for an object that says yes to what the target deploys, and there is none",
		condition: true,
		message: func(d Decision) string {
			return d.of() + " is not verified (Unverified: " + d.Detail + "). Next: wait for it, or see why it does not come"
		},
	},
	denies: (*Input).unverified,
}

// unverified reports whether one of the Verifications of the step has no answer.
func (in *Input) unverified(d Decision) (denied Decision, ok bool) {
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
