package policy

// DependencyNotDone means that something is not done after which the target comes.
const DependencyNotDone Reason = "DependencyNotDone"

var dependencyNotDone = row{
	reason: DependencyNotDone,
	when: "what `stepgate.io/after` names is not done at what it was last compared with, or was not compared " +
		"since the change",
}
