// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/cluster"
)

// remote is a second cluster, which is a destination of Applications and runs nothing itself.
type remote struct {
	*cluster.Cluster
	admin client.Client
}

const (
	// here is the name of the cluster in which Argo CD runs, and away the name of the second one.
	here, away = "in-cluster", "away"
	// remoteShard is the shard of the second cluster. The first one always has shard 0.
	remoteShard = 1
)

// cluster is the name of the cluster that the member deploys to.
func (m *member) cluster() string {
	if m.remote {
		return away
	}
	return cmp.Or(m.spoke, here)
}

// clientOf is a client of the cluster that a member deploys to.
func (s *suite) clientOf(m *member) client.Client {
	if m.remote {
		return s.elsewhere.admin
	}
	return s.Admin
}

// startRemote starts the second cluster and makes it a destination.
func (s *suite) startRemote(ctx context.Context, modes []mode) error {
	other, err := cluster.Start(cluster.Options{})
	if err != nil {
		return err
	}
	s.elsewhere = &remote{Cluster: other}
	s.Cleanup(func() { _ = other.Stop() })
	if s.elsewhere.admin, err = other.Client(""); err != nil {
		return err
	}
	for _, m := range modes {
		if err := other.CreateNamespace(ctx, m.destination()); err != nil {
			return err
		}
	}
	return s.argo.AddCluster(ctx, away, other, remoteShard)
}

// clusterPlay is a scenario over two clusters, as it is played with some shards.
type clusterPlay struct {
	scenario
	shards []argocd.Shard
}

// oneController, bothShards and ahead are how the application controller runs: in one process, in two, and in two of
// which the clock of one is ahead of all others by some seconds, or behind.
func oneController() []argocd.Shard { return nil }

func ahead(first, second int) []argocd.Shard {
	return []argocd.Shard{{Ahead: time.Duration(first) * time.Second}, {Ahead: time.Duration(second) * time.Second}}
}

// spread has every other member of a step deploy to the second cluster.
func spread(r *rollout) {
	for i, m := range r.members {
		m.remote = i%2 == 1
	}
}

// alternate lets the second step deploy to the second cluster, and the others to the first one.
func alternate(r *rollout) {
	for _, m := range r.members {
		m.remote = m.step%2 == 1
	}
}

// byName names the destination of each Application by the name of its cluster.
func byName(_ *rollout, spec *argo.ApplicationSpec) {
	spec.Destination = argo.ApplicationDestination{Name: "{{.cluster}}", Namespace: "{{.destination}}"}
}

// clusterPlays are all of them.
func clusterPlays() []clusterPlay {
	all := []clusterPlay{
		{spreadOver("one", commitRefreshedIn(backwards())), oneController()},
		{spreadOver("shards", commitRefreshedIn(backwards())), ahead(0, 0)},
	}
	for _, skew := range [][2]int{{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {3, 0}, {0, 3}, {30, 0}, {0, 30}, {-30, 0}, {0, -30}} {
		all = append(all, clusterPlay{alternating(skew, commitRefreshedIn(backwards())), ahead(skew[0], skew[1])})
	}
	return all
}

func spreadOver(name string, play func(*rollout)) scenario {
	return scenario{
		key: "clusters-" + name, title: "each step over both clusters, a commit; prod refreshed first", each: 2, world: true, quick: name == "one",
		layout: spread, template: byName, play: play,
	}
}

// mostAsked is the largest difference of clocks, in seconds, at which a commit is rolled out right after the
// installation. With a larger one the last sync lies in the future of the ApplicationSet controller, which may take it
// for the sync that is held: that rollout then stands still (docs/reliability.md, Clocks). The play waits until it does
// not.
const mostAsked = 1

// alternating is a rollout with the second step in the second cluster.
func alternating(skew [2]int, play func(*rollout)) scenario {
	if most := max(skew[0], skew[1]); most > mostAsked {
		own := play
		play = func(r *rollout) {
			r.pause(time.Duration(most+1) * time.Second)
			own(r)
		}
	}
	return scenario{
		key: strings.ReplaceAll(fmt.Sprintf("skew-%d-%d", skew[0], skew[1]), "--", "-minus"), world: true, each: 1, limit: 3 * time.Minute,
		title: "step 2 in the second cluster, a commit; prod refreshed first", layout: alternate, template: byName, play: play,
	}
}

// chooseClusters are the plays and the outages that flags name.
func chooseClusters(list string, quick bool) (plays []clusterPlay, outages []outage) {
	for _, p := range clusterPlays() {
		if len(choose([]scenario{p.scenario}, list, quick)) > 0 {
			plays = append(plays, p)
		}
	}
	for _, o := range allOutages() {
		if len(choose([]scenario{o.scenario}, list, quick)) > 0 {
			outages = append(outages, o)
		}
	}
	return plays, outages
}

// measureClusters starts the second cluster, plays all and prints what came of it. Nothing may start early with the
// gate, and every rollout has to complete.
func (s *suite) measureClusters(ctx context.Context, plays []clusterPlay, outages []outage) error {
	modes := []mode{off, on}
	if err := s.startRemote(ctx, modes); err != nil {
		return fmt.Errorf("the second cluster: %w", err)
	}
	s.out.Line("\ntwo clusters, and shards of the application controller:")
	var results []*clusterResult
	for _, p := range plays {
		settings := quietSettings()
		settings.Shards = p.shards
		if err := s.argo.Restart(ctx, settings); err != nil {
			return err
		}
		outcomes, err := player{s, modes, 2}.playOnce(ctx, p.scenario)
		if err != nil {
			return err
		}
		results = append(results, &clusterResult{p, outcomes})
	}
	writes, err := s.audit.writes()
	if err != nil {
		return err
	}
	problems := []error{printClusters(s.out, results, writes, s.argo.Traits.HasBarrier())}
	if len(outages) > 0 {
		problems = append(problems, s.measureOutages(ctx, outages))
	}
	return errors.Join(append(problems, s.argo.Restart(ctx, quietSettings()))...)
}
