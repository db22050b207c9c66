package policy

// ApplicationSetFailing means that the ApplicationSet controller may not have written an Application of an earlier
// step. It is an error of the ApplicationSet, and holds back what has changed for as long as that lasts. So does a
// denial of the gate, for later steps: the spec came in the same write. For its own step it would hold back itself for
// ever. A revision is no change of the spec: it is not written.
const ApplicationSetFailing Reason = "ApplicationSetFailing"

var applicationSetFailing = waiting{
	row: row{
		reason: ApplicationSetFailing,
		level:  RequireRevision,
		when: "level above `health`: the target has a change of its spec, and the ApplicationSet has the condition " +
			"ErrorOccurred, for another reason than a write of the same step or a later one that stepgate denied " +
			"(`--hold=false`)",
		next: "repair the ApplicationSet APP",
		message: func(d Decision) string {
			namespace, name := d.set()
			return d.of() + " may not sync yet (ApplicationSetFailing: its controller reports an error, and may not have " +
				"written an Application of an earlier step: " +
				d.Detail + "). Next: repair the ApplicationSet: kubectl get applicationset " + name + " -n " + namespace +
				" -o yaml"
		},
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) {
		d.Detail = Printable(in.ApplicationSet.Failing, maxText)
		return d, in.changed() && in.ApplicationSet.Failing != "" && in.ApplicationSet.FailingStep < d.Step
	},
}
