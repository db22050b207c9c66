package policy

// VerifyFailed means that an object has said no to what would be deployed.
const VerifyFailed Reason = "VerifyFailed"

var verifyFailed = waiting{
	row: row{
		reason:    VerifyFailed,
		level:     RequireHealth,
		when:      "an object that the step waits for says no to what the target deploys",
		condition: true,
		message: func(d Decision) string {
			return d.of() + " may not deploy this (VerifyFailed: " + d.Detail + "). Next: deploy another revision, or have " +
				"it verified again"
		},
	},
	denies: (*Input).verifyFailed,
}

// verifyFailed reports whether one of the Verifications of the step says no.
func (in *Input) verifyFailed(d Decision) (denied Decision, ok bool) {
	v, found, ok := in.evidence(d.Step, No)
	d.Detail = v.says(found)
	return d, ok
}
