// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/webhook/ledger"
)

const (
	// killEvery is how often all replicas of the gate are killed, which takes longer than two steps soak.
	killEvery = 26 * time.Second
	// mostlyDeployed is how many of the commits the last step has to deploy all the same.
	mostlyDeployed = 4
)

// TestLedger lets commits land while all replicas of the gate are killed again and again. With the ledger the last step
// goes on. The gate without it is the control.
func TestLedger(t *testing.T) {
	about := report.Suite{
		Name: "e2e-ledger", Title: "a train of commits while all replicas of stepgate are killed, with `--ledger` and without",
	}
	sc := scenario{
		key: "ledger", title: "13 commits, one every 6 s, 8 s of soak; both replicas are killed every 26 s", each: 1, world: true,
		rounds: 13, limit: 3 * time.Minute, play: killedTrain,
	}
	modes := []mode{starting, forgetful}
	chosen.run(t, about, modes, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		outcomes, err := player{s, modes, 2}.playOnce(ctx, sc)
		if err != nil {
			return "", err
		}
		s.out.Line("| ledger | commits | deployed while they landed in dev / qa / prod | oldest in prod | out of order | " +
			"complete after | bytes of the ledger |\n|---|---|---|---|---|---|---|")
		last := map[mode]int{}
		for _, m := range modes {
			o := outcomes[m]
			if o.problem != nil {
				return "", fmt.Errorf("%s: %w", m, o.problem)
			}
			rides := o.onTheTrain()
			last[m] = rides["prod"].deployed
			bytes, problem := s.ledgerOf(ctx, m)
			s.out.Line("| %t | %d | %d / %d / %d | %s | %d | %.1f s | %d |", m.keeps(), sc.rounds, rides["dev"].deployed,
				rides["qa"].deployed, last[m], whole(rides["prod"].oldest), o.outOfOrder(), o.took.Seconds(), bytes)
			if !o.completed() || o.outOfOrder() > 0 {
				problem = errors.Join(problem, fmt.Errorf("%d starts out of order: %s", o.outOfOrder(), o.rollout.summary()))
			}
			if problem != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", m, problem))
			}
		}
		if last[starting] < mostlyDeployed || last[forgetful] >= last[starting] {
			err = errors.Join(err, fmt.Errorf("the last step deployed %d of %d commits with the ledger, and %d without",
				last[starting], sc.rounds, last[forgetful]))
		}
		return fmt.Sprintf("e2e-ledger: argocd=%s commits=%d with=%d without=%d", s.argo.Version, sc.rounds, last[starting],
			last[forgetful]), err
	})
}

// killedTrain is steadyTrain with a gate that is killed and started again all the time.
func killedTrain(r *rollout) {
	r.annotateObject(r.applicationSet(), prefix+"soak", trainSoak.String())
	kills := time.NewTicker(killEvery)
	defer kills.Stop()
	trainBeside(r, 6*time.Second, kills.C, func() {
		r.gates[r.mode].Kill()
		for i := range r.mode.replicas() {
			r.restart(i)
		}
	})
	r.haveSoaked(trainSoak)
}

// ledgerOf is how many bytes the gate of a mode has written into ConfigMaps of its namespace. It is an error if one that
// keeps the ledger has none there, or the other way round.
func (s *suite) ledgerOf(ctx context.Context, m mode) (bytes int, err error) {
	list := &corev1.ConfigMapList{}
	err = s.Admin.List(ctx, list, client.InNamespace(m.gateName()), client.HasLabels{ledger.Label})
	for _, o := range list.Items {
		bytes += len(o.BinaryData[ledger.CompletionsKey])
	}
	if written := bytes > 0; err == nil && written != m.keeps() {
		err = fmt.Errorf("the ledger has %d bytes", bytes)
	}
	return bytes, err
}
