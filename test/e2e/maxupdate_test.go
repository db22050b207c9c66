// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/report"
)

// TestMaxUpdate has three writers start the syncs of 60 Applications in steps of a maxUpdate of 5: the ApplicationSet
// controller, stepgate, and a user who syncs whatever is there. The gate that does not keep maxUpdate is the control.
func TestMaxUpdate(t *testing.T) {
	about := report.Suite{
		Name: "e2e-max-update", Title: "60 Applications, maxUpdate 5, three writers, with `--max-update` and without",
	}
	sc := scenario{
		key: "max-update", title: "a commit; all refreshed at once, and synced again and again by a user", each: 20, maxUpdate: 5,
		world: true, limit: 8 * time.Minute, setup: 10 * time.Minute, play: threeWriters,
	}
	modes := []mode{starting, limited}
	chosen.run(t, about, modes, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		outcomes, err := player{s, modes, 1}.playOnce(ctx, sc)
		if err != nil {
			return "", err
		}
		s.out.Line("| gate | at once, by step | complete after | out of order |\n|---|---|---|---|")
		line := "e2e-max-update: argocd=" + s.argo.Version
		for _, m := range modes {
			o := outcomes[m]
			if o.problem != nil {
				return "", fmt.Errorf("%s: %w", m, o.problem)
			}
			s.out.Line("| %s | %d, %d, %d | %.1f s | %d |", m, o.atOnce.most[0], o.atOnce.most[1], o.atOnce.most[2],
				o.took.Seconds(), o.outOfOrder())
			line += fmt.Sprintf(" %s=%d", m, o.atOnce.top())
			if !o.completed() || o.outOfOrder() > 0 {
				err = errors.Join(err, fmt.Errorf("%s: %s", m, o.rollout.summary()))
			}
		}
		switch kept, control := outcomes[limited], outcomes[starting]; {
		case kept.atOnce.over() > 0:
			err = errors.Join(err, fmt.Errorf("%d at once, and maxUpdate is 5", kept.atOnce.top()))
		case control.atOnce.over() == 0:
			err = errors.Join(err, errors.New("no more than maxUpdate were synced at once without --max-update either"))
		}
		return line, err
	})
}

// threeWriters lets a commit land, and has a user sync all Applications, one after the other, until the rollout has to
// be over.
func threeWriters(r *rollout) {
	r.begin()
	r.version("2", r.members)
	r.refreshAtOnce(r.members...)
	go r.syncsEverything(time.Now().Add(r.scenario.limit))
}

// syncsEverything writes operations, of which the gate refuses most: that is no failure. It ends when everything is
// deployed, and nothing is to be synced.
func (r *rollout) syncsEverything(until time.Time) {
	const operation = `{"operation":{"sync":{},"initiatedBy":{"username":"somebody"}}}`
	for began := false; time.Now().Before(until) && r.ctx.Err() == nil; {
		synced := true
		for _, m := range r.members {
			app := r.live(m)
			if app == nil || app.Operation != nil || app.Status.Sync.Status == argo.SyncStatusCodeSynced {
				continue
			}
			began, synced = true, false
			target := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(r.mode), Name: m.name}}
			_ = r.Admin.Patch(r.ctx, target, client.RawPatch(types.MergePatchType, []byte(operation)))
		}
		if began && synced {
			return
		}
		select {
		case <-r.ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}
