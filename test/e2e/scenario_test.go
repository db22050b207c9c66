// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// scenario is a kind of rollout, played with the gate and without.
type scenario struct {
	// key names it in flags, in the names of its objects and in the report.
	key, title string
	// each is the number of Applications per step, and envs are the steps if they are others than environments.
	each int
	envs []string
	// maxUpdate is the one of every step; zero means none.
	maxUpdate int
	// ownRepos gives every Application a repository of its own.
	ownRepos bool
	// noRetry makes a failed operation final.
	noRetry bool
	// needHealthy lets the observer ask for the health of earlier steps, too.
	needHealthy bool
	// reverse has the ApplicationSet controller delete the Applications, in the reverse order of the steps.
	reverse bool
	// byHand is the environment whose step has maxUpdate 0.
	byHand string
	// manual says that users start syncs in it.
	manual bool
	// automated lets the application controller sync by itself, without progressive syncs in the ApplicationSet
	// controller.
	automated bool
	// resync belongs to the second part, with a short timeout.reconciliation.
	resync bool
	// quick belongs to the subset that CI runs.
	quick bool
	// fresh is measured from the installation on.
	fresh bool
	// layout changes where the manifests of the members come from, and template the spec of the Applications.
	layout   func(r *rollout)
	template func(r *rollout, spec *argo.ApplicationSpec)
	// set changes the ApplicationSet before it is created.
	set func(set *argo.ApplicationSet)
	// beside are the modes in which it is played beside off and on. audit is one of them by default.
	beside []mode
	// world marks a scenario that is not played in audit mode: it takes long, or has starts that no webhook sees.
	world bool
	// repairs says that Argo CD repairs drift in it: on record, such a sync may look like an early one.
	repairs bool
	// rounds is how often it repeats its change, and quickRounds how often in the subset that CI runs.
	rounds, quickRounds int
	// twice says that with the gate two commits are rolled out one after the other, where without it they go together.
	twice bool
	// waits is by how much it may take longer with the gate than other scenarios may.
	waits time.Duration
	// limit is how long it may take to complete; zero means a minute. setup is the same for the installation before;
	// zero means five minutes.
	limit, setup time.Duration
	play         func(r *rollout)
}

// environments are its steps, in their order.
func (s scenario) environments() []string {
	if s.envs != nil {
		return s.envs
	}
	return environments[:]
}

// in are the modes in which it is played, when those of the run are given.
func (s scenario) in(modes []mode) []mode {
	var all []mode
	for _, m := range modes {
		if m == audit && s.world {
			continue
		}
		if m == on {
			all = append(all, s.beside...)
		}
		all = append(all, m)
	}
	return all
}

// startedByUsers says that users start some of its syncs.
func (s scenario) startedByUsers() bool { return s.manual || s.byHand != "" }

func (s scenario) within() time.Duration { return cmp.Or(s.limit, time.Minute) }

func (s scenario) setupWithin() time.Duration { return cmp.Or(s.setup, 5*time.Minute) }

// orders are all orders of the environments.
func orders() [][]string {
	return [][]string{
		{"dev", "qa", "prod"}, {"dev", "prod", "qa"}, {"qa", "dev", "prod"},
		{"qa", "prod", "dev"}, {"prod", "dev", "qa"}, {"prod", "qa", "dev"},
	}
}

func scenarios() []scenario {
	var all []scenario
	for _, order := range orders() {
		name := strings.Join(order, ", ")
		all = append(all, scenario{
			key: "commit-" + strings.Join(order, "-"), title: "one repository, a commit; refreshed in the order " + name, each: 1,
			quick: order[0] == "prod" && order[1] == "qa", play: commitRefreshedIn(order),
		})
	}
	all = append(all, scenario{
		key: "commit-at-once", title: "one repository, a commit; all refreshed at once", each: 1, quick: true, play: commitRefreshedAtOnce,
	})
	for _, order := range orders() {
		name := strings.Join(order, ", ")
		all = append(all, scenario{
			key: "repos-" + strings.Join(order, "-"), title: "three repositories, pushed and refreshed in the order " + name, each: 1, ownRepos: true,
			quick: order[0] == "prod" && order[1] == "qa", play: commitRefreshedIn(order),
		})
	}
	return slices.Concat(all, special(), moving(), overtaking(), elsewhere(), wide(), slowWebhooks(), specs())
}

// commitRefreshedIn commits to the repositories in the order of the environments, and refreshes in it.
func commitRefreshedIn(order []string) func(*rollout) {
	return func(r *rollout) {
		r.begin()
		r.version("2", r.in(order...))
		r.refresh(r.in(order...)...)
	}
}

func commitRefreshedAtOnce(r *rollout) {
	r.begin()
	r.version("2", r.members)
	r.refreshAtOnce(r.members...)
}

// choose returns those of all scenarios that a comma-separated list of keys or beginnings of keys names; all when it is
// empty.
func choose(all []scenario, list string, quick bool) []scenario {
	var chosen []scenario
	for _, s := range all {
		if quick && !s.quick {
			continue
		}
		if quick && s.quickRounds > 0 {
			s.rounds = s.quickRounds
		}
		if list == "" {
			chosen = append(chosen, s)
			continue
		}
		for _, word := range strings.Split(list, ",") {
			if strings.HasPrefix(s.key, word) {
				chosen = append(chosen, s)
				break
			}
		}
	}
	return chosen
}
