// SPDX-License-Identifier: Apache-2.0

package audit

import "github.com/stepgate/stepgate/cmd/screen"

// project is where the gate is that keeps the order.
const project = "https://github.com/stepgate/stepgate"

// limits are what the records cannot show.
func limits() []string {
	return []string{
		"Argo CD records syncs that succeeded, the newest 10 of each Application by default (revisionHistoryLimit), " +
			"repeated syncs of one revision included. Of a sync that failed or still runs, only the last one is known.",
		"A record has the start and the end of a sync, not the health after it. A step that began before the earlier one " +
			"was Healthy looks in order.",
		"An Application without a record of a revision is left out: the commit may not have touched it, its sync may have " +
			"failed, or it went on to a newer one.",
		"Only the first sync of a revision counts. A change of the template without a new revision is not looked at.",
		"A sync that repairs drift looks like the first sync of a revision that changed nothing of its Application: the " +
			"report may call it out of order.",
		"The present labels, or the present sync wave, tell the step of an Application. Applications that were deleted or " +
			"recreated have no past.",
		"Rollouts that Argo CD's records have lost are judged by stepgate's ledger, if there is one and it may be read. It " +
			"has the first start and the completion of each step, health included, and no single Application.",
		"Times have whole seconds, of the clocks of Argo CD's controllers.",
	}
}

// limits says what the report does not know, and what to do next.
func (t *text) limits(r *Report) {
	t.add("")
	if t.wide {
		t.add(t.Paint(screen.Bold, "What the records cannot show"))
		for _, words := range limits() {
			t.say("  - ", "    ", words)
		}
	} else {
		t.say("", "", "Times are UTC, in whole seconds. The records are short, and say nothing about health; -o wide says "+
			"what they cannot show.")
	}
	if r.Totals.OutOfOrder > 0 {
		t.add("")
		t.say("Next: ", "      ", "stepgate get shows the rollouts of now. The gate keeps their order: "+project)
	}
}
