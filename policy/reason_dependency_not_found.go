// SPDX-License-Identifier: Apache-2.0

package policy

// DependencyNotFound means that there is nothing of the name that stepgate.io/after gives.
const DependencyNotFound Reason = "DependencyNotFound"

var dependencyNotFound = row{
	reason: DependencyNotFound,
	means: "What `stepgate.io/after` names does not exist, is being deleted, or has generated no Application " +
		"yet; or the annotation cannot be read. stepgate does not take that for done.",
	do: "create it, or correct the annotation.",
	when: "`stepgate.io/after` cannot be read, or what it names does not exist, is being deleted, or has " +
		"generated nothing yet",
	short: "it does not exist, or not yet, or not any more",
	next:  "create what the annotation stepgate.io/after names, or correct that",
}
