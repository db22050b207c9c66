// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/argocd"
)

// automatedSyncs are the scenarios in which the application controller syncs by itself: automated sync with self-heal
// in the template, and an ApplicationSet controller without progressive syncs. Only the gate knows of the steps.
func automatedSyncs() []scenario {
	all := []scenario{
		{key: "auto-commit", title: "a commit; prod refreshed first", each: 1, quick: true, play: commitRefreshedIn(backwards())},
		{key: "auto-at-once", title: "a commit; all refreshed at once", each: 1, play: commitRefreshedAtOnce},
		{key: "auto-repos", title: "three repositories, pushed and refreshed in the order prod, qa, dev", each: 1, ownRepos: true, play: commitRefreshedIn(backwards())},
		{key: "auto-nine", title: "3 steps of 3 Applications; all refreshed at once", each: 3, play: commitRefreshedAtOnce},
		{key: "auto-template", title: "a change of the template that changes every spec", each: 1, waits: settling, play: repointed},
		{key: "auto-install", title: "first installation", each: 1, waits: settling, fresh: true, quick: true, play: installing},
		{key: "auto-failed", title: "the sync of step 1 fails, and a new commit mends it", each: 1, noRetry: true, play: failed},
		{key: "auto-overtaken", title: "a second commit lands while step 2 is still Progressing with the first", each: 1, play: overtakenAtOnce},
		{key: "auto-drift", title: "all drift while step 1 is Progressing with a commit of its own, and are healed", each: 1, ownRepos: true, quick: true, play: healed},
		{key: "auto-drift-shared", title: "all drift while step 1 is Progressing with a commit that all have been compared with", each: 1, play: healedShared, repairs: true},
		{
			key: "auto-prune", title: "a commit; step 1 keeps what nobody prunes, on purpose (`stepgate.io/require: completed`)", each: 1, set: completedOnPurpose,
			play: pruneOnly,
		},
	}
	all = append(all, automatedSpecs()...)
	for i := range all {
		all[i].automated, all[i].world, all[i].template = true, true, both(inProject, selfHealing)
	}
	return all
}

func selfHealing(_ *rollout, spec *argo.ApplicationSpec) {
	heal := true
	if spec.SyncPolicy == nil {
		spec.SyncPolicy = &argo.SyncPolicy{}
	}
	spec.SyncPolicy.Automated = &argo.SyncPolicyAutomated{SelfHeal: &heal}
}

// unordered restarts Argo CD without progressive syncs.
func (s *suite) unordered(ctx context.Context) error {
	return s.argo.Restart(ctx, argocd.Settings{Resync: longResync, Unordered: true})
}

// repointed changes every spec; nothing else lands.
func repointed(r *rollout) {
	r.begin()
	r.pointToTwo()
}

// healed has dev stay Progressing with a commit of its own repository, and lets the cluster drift in every step. Each
// deployed revision has to be restored before dev is Healthy.
func healed(r *rollout) {
	r.begin()
	dev := r.one("dev")
	r.version("2", r.in("dev"), dev)
	r.refresh(dev)
	r.untilEach(dev.name+" Progressing", []*member{dev}, progressing)
	r.healAll()
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
}

// healedShared is healed with one repository, and a commit that changes only dev.
func healedShared(r *rollout) {
	r.begin()
	dev := r.one("dev")
	r.version("2", r.in("dev"), dev)
	r.refresh(r.in(backwards()...)...)
	r.untilEach(dev.name+" Progressing", []*member{dev}, progressing)
	r.healAll()
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
}

// healAll has every member drift, and waits until each is restored.
func (r *rollout) healAll() {
	began := time.Now()
	for _, m := range r.members {
		r.setDeployed(m, "drifted")
	}
	r.until("the deployed revision everywhere", func() bool {
		for _, m := range r.members {
			if r.deployed(m) != m.version {
				return false
			}
		}
		return true
	})
	r.note = fmt.Sprintf("all restored after %.1fs, while step 1 was Progressing", time.Since(began).Seconds())
}

// maxRatio is how many times as long the rollouts may take in order as all at once, in the median.
const maxRatio = 2

// measureAutomated plays these scenarios without the gate and with it, and prints a table. In order and complete is a
// must.
func (s *suite) measureAutomated(ctx context.Context, chosen []scenario, modes []mode, strict bool) error {
	if err := s.unordered(ctx); err != nil {
		return err
	}
	s.out.Line("\nautomated sync, without progressive syncs in the ApplicationSet controller:")
	all := table{}
	for _, sc := range chosen {
		var err error
		if all[sc.key], err = (player{s, modes, 2}).playOnce(ctx, sc); err != nil {
			return err
		}
	}
	writes, err := s.audit.writes()
	if err != nil {
		return err
	}
	printTable(s.out, chosen, all, writes)
	printWaits(s.out, chosen, all)
	t := total(chosen, all)
	timed := total(slices.DeleteFunc(slices.Clone(chosen), func(sc scenario) bool { return sc.waits > 0 }), all)
	ratio := median(timed.on).Seconds() / max(median(timed.off).Seconds(), 0.1)
	s.out.Line("automated: rollouts=%d off_out_of_order=%d on_out_of_order=%d on_completed=%d median_off=%.1fs "+
		"median_on=%.1fs ratio=%.1f",
		t.rollouts, t.offOutOfOrder, t.onOutOfOrder, t.onCompleted, median(t.off).Seconds(), median(t.on).Seconds(), ratio)
	problems := slices.Concat(t.problems, []error{printHistory(s.out, chosen, all)})
	if t.onOutOfOrder > 0 {
		problems = append(problems, fmt.Errorf("automated sync: %d starts out of order with the gate", t.onOutOfOrder))
	}
	if len(t.off) > 0 && t.offOutOfOrder == 0 {
		problems = append(
			problems, errors.New("automated sync: nothing went out of order without the gate, so this run tests nothing"),
		)
	}
	if strict && len(timed.off) > 0 && ratio > maxRatio {
		problems = append(problems, fmt.Errorf("automated sync takes %.1f times as long in order", ratio))
	}
	return errors.Join(problems...)
}
