// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"testing"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// writtenPlays are all of them. A person syncs the next step in each, as early as he can: without stepgate, that works.
func writtenPlays() []gatedPlay {
	all := []gatedPlay{
		{
			scenario: scenario{
				key: "hidden-dry", title: "a PostSync hook of step 1 fails, and a dry run replaces the result", noRetry: true,
				play: hiddenBy((*rollout).syncDry),
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "hidden-one", title: "a PostSync hook of step 1 fails, and a sync of one resource replaces the result", noRetry: true,
				play: hiddenBy((*rollout).syncOne),
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "local", title: "somebody syncs manifests of his own to step 1 (`argocd app sync --local`)",
				byHand: "dev", play: localFirst(),
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "local-dry", title: "the same, and then a dry run", byHand: "dev", play: localFirst((*rollout).syncDry),
			},
			gates: []mode{on},
		},
		{
			scenario: scenario{
				key: "returned", title: "somebody syncs step 1 back to the commit before while the new one soaks before step 3", play: returned,
			},
			gates: []mode{on, candidate, starting},
		},
		{
			scenario: scenario{
				key: "restarted", title: "stepgate starts anew during a sync of step 1 that leaves something to prune", byHand: "dev",
				play: restarted(),
			},
			gates: []mode{on, starting}, ordered: true,
		},
		{
			scenario: scenario{
				key: "restarted-without", title: "the same, and somebody takes the stamp out of that sync meanwhile", limit: 40 * time.Second,
				byHand: "dev", play: restarted((*rollout).unstamp),
			},
			gates: []mode{on}, ordered: true, stands: true,
		},
	}
	for i := range all {
		all[i].each, all[i].world, all[i].manual = 1, true, true
	}
	return all
}

// TestWrittenDown plays rollouts in which something hides what was deployed.
func TestWrittenDown(t *testing.T) {
	playGated(t, report.Suite{
		Name: "e2e-written", Title: "something hides what step 1 has deployed, or how that ended, without stepgate and with it",
	}, writtenPlays())
}

// versionWith gives all members, who share a repository, a new version, in one commit with other files.
func (r *rollout) versionWith(version string, others files) {
	changed := maps.Clone(others)
	for _, m := range r.members {
		m.version = version
		maps.Copy(changed, m.file("Healthy"))
	}
	r.commit(r.members[0].repo, changed)
}
