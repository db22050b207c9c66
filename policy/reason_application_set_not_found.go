// SPDX-License-Identifier: Apache-2.0

package policy

// ApplicationSetNotFound means that the ApplicationSet that the Application names is gone.
const ApplicationSetNotFound Reason = "ApplicationSetNotFound"

var applicationSetNotFound = settling{
	row: row{
		reason: ApplicationSetNotFound,
		means:  "The ApplicationSet in the ownerReference does not exist, or is another one with the same name.",
		when:   "that ApplicationSet does not exist, or has another UID",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return in.ApplicationSet == nil },
}
