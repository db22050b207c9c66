// SPDX-License-Identifier: Apache-2.0

package policy

// DependencyNotDone means that something is not done after which the target comes.
const DependencyNotDone Reason = "DependencyNotDone"

var dependencyNotDone = row{
	reason: DependencyNotDone,
	means: "The annotation `stepgate.io/after` names an ApplicationSet or an Application of which not " +
		"everything is done. The text lists what is not done, each with its own reason.",
	do: "what the sections of those reasons say. In a circle, take a name out.",
	when: "what `stepgate.io/after` names is not done at what it was last compared with, or was not compared " +
		"since the change",
}
