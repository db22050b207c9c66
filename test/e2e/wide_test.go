// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"time"
)

// wide are the scenarios with many Applications in each step.
func wide() []scenario {
	return []scenario{{
		key: "sixty", title: "4 steps of 15 Applications with maxUpdate 5; a commit, the last step refreshed first", each: 15, maxUpdate: 5,
		envs: []string{"dev", "test", "qa", "prod"}, world: true, limit: 5 * time.Minute, setup: 10 * time.Minute, play: commitToMany,
	}}
}

// commitToMany commits, and lets Argo CD compare all Applications, without a pause between two of them.
func commitToMany(r *rollout) {
	r.begin()
	r.version("2", r.members)
	last := slices.Clone(r.scenario.environments())
	slices.Reverse(last)
	r.refreshAll(r.in(last...))
}
