// SPDX-License-Identifier: Apache-2.0

package notify

// Variable is something that triggers and templates are told.
type Variable struct{ Name, Means string }

// Variables are all of them, for docs/reference/notifications.md. A test compares.
func Variables() []Variable {
	return []Variable{
		{"appset.name, appset.namespace, appset.labels", "of the ApplicationSet"},
		{"appset.annotations", "those of stepgate.io and of notifications.argoproj.io"},
		{"rollout.phase", "Complete, Progressing or Waiting"},
		{"rollout.step, rollout.stepName", "the number of the first step that is not done, and what people call it, such " +
			"as step 3 or wave 20; 0 and empty if all are"},
		{"rollout.done, rollout.total", "how many Applications are done, and how many there are"},
		{"rollout.revision", "what they were last compared with, short"},
		{"rollout.enforced", "whether stepgate holds syncs: not in audit mode, without a gate that answers, or during " +
			"a bypass. " +
			"Otherwise nothing waits"},
		{"rollout.command", "what to type to see it"},
		{"rollout.steps", "a list, each with number, name, state (done, running, waits, held or failed), done, total, and " +
			"conditions: a list, each with reason, met and text"},
		{"rollout.waiting", "the Applications that wait, each with name, step, stepName, reason (of a condition, or " +
			"WaitsForOthers, or MayStart), sentence, since and seconds"},
		{"rollout.waits", "the first step that waits. It waits since its first Application does, and not longer than " +
			"since the step before it could begin"},
		{"rollout.approval", "the first step that lacks nothing but an approval"},
		{"rollout.stopped", "the first step with a Degraded Application, or one whose sync has failed, while nothing that " +
			"runs, or is about to start, may repair it (reason Failed); or that too many failures stop (TooManyFailures)"},
		{"rollout.verification", "the first step whose evidence says no (reason Refused) or nothing yet " +
			"(Unverified), or the last one of which it says yes (Verified)"},
		{"rollout.complete", "that everything is done"},
		{".is", "of each of these five: whether it is so"},
		{".step, .stepName", "the number of the step, and what people call it"},
		{".reason, .applications", "the reason, and the names of its Applications"},
		{".text, .command", "what to say, and what to type"},
		{".since, .seconds", "since when, as far as that is known, and for how long"},
		{".key", "what tells occurrences apart, for oncePer: the step, and the revisions or the condition"},
		{"context", "the map of the same name in argocd-notifications-cm"},
		{"serviceType, recipient", "who is told, for templates"},
	}
}
