package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/script"
)

// outage is a scenario in which the second cluster does not answer while a commit is rolled out.
type outage struct {
	scenario
	begin func(*cluster.Cluster) (*cluster.Outage, error)
	// restart restarts Argo CD while the cluster does not answer, so that it knows nothing of what is there.
	restart bool
	lasts   time.Duration
}

func kill(c *cluster.Cluster) (*cluster.Outage, error) { return c.Kill() }

func hang(c *cluster.Cluster) (*cluster.Outage, error) { return c.Hang() }

func allOutages() []outage {
	of := func(key, title string) scenario {
		return scenario{key: "dead-" + key, title: title, each: 2, world: true, limit: 6 * time.Minute, layout: spread, template: byName}
	}
	return []outage{
		{of("refuses", "connections are refused"), kill, false, 40 * time.Second},
		{of("refuses-restart", "connections are refused, and Argo CD restarts meanwhile"), kill, true, 40 * time.Second},
		{of("hangs", "connections are not answered"), hang, false, 40 * time.Second},
	}
}

func (s *suite) measureOutages(ctx context.Context, all []outage) error {
	var problems []error
	for _, o := range all {
		problems = append(problems, s.measureOutage(ctx, o))
	}
	return errors.Join(problems...)
}

func outageSettings() argocd.Settings { return argocd.Settings{Resync: shortResync, Shards: ahead(0, 0)} }

func (s *suite) measureOutage(ctx context.Context, o outage) error {
	if err := s.argo.Restart(ctx, outageSettings()); err != nil {
		return err
	}
	all := table{}
	beside := scenario{key: o.key + "-beside", each: 1, world: true, limit: o.limit}
	all[o.key], all[beside.key] = map[mode]*outcome{}, map[mode]*outcome{}
	if err := (player{s, []mode{off, on}, 2}).prepare(ctx, []scenario{o.scenario, beside}, all); err != nil {
		return err
	}
	dead, err := o.begin(s.elsewhere.Cluster)
	if err != nil {
		return err
	}
	if o.restart {
		if err := s.argo.Restart(ctx, outageSettings()); err != nil {
			return err
		}
	}
	var group sync.WaitGroup
	for _, outcomes := range all {
		for _, each := range outcomes {
			r := each.rollout
			r.scenario.play = func(r *rollout) {
				r.begin()
				r.version("2", r.members)
				r.refreshAtOnce(r.in(backwards()...)...)
			}
			group.Go(func() { each.play(); printOutcome(each) })
		}
	}
	for at := 10 * time.Second; at <= o.lasts; at += 10 * time.Second {
		time.Sleep(10 * time.Second)
		fmt.Println("=== during", at)
		for m, each := range all[o.key] {
			fmt.Println(m, each.rollout.summary())
			for _, mem := range each.rollout.members {
				if app := each.rollout.live(mem); app != nil {
					msg := ""
					if app.Status.OperationState != nil {
						msg = app.Status.OperationState.Message
					}
					fmt.Println("   ", mem.name, mem.remote, conditionsOf(app), "OP:", msg)
				}
			}
			fmt.Println("   recorded", each.rollout.recorded())
		}
	}
	r := all[o.key][on].rollout
	kc := script.Get(s.AdminKubeconfig())
	for _, args := range [][]string{{"get", r.name}, {"explain", r.in("prod")[0].name}, {"explain", r.in("dev")[1].name}} {
		c := exec.CommandContext(ctx, s.Binary, append(args, "--kubeconfig", kc, "-n", "on")...)
		c.Env = append(os.Environ(), "COLUMNS=140")
		text, err := c.CombinedOutput()
		fmt.Println("$ stepgate", strings.Join(args, " "), err)
		fmt.Println(string(text))
	}
	back := time.Now()
	err = dead.End(ctx)
	fmt.Println("=== back after", time.Since(back), err)
	group.Wait()
	for _, outcomes := range all {
		for _, each := range outcomes {
			fmt.Println(each.rollout.name, each.rollout.mode, "complete after it was back:", each.rollout.finished.Sub(back))
		}
	}
	return err
}

func conditionsOf(app *argo.Application) string {
	text := ""
	for _, c := range app.Status.Conditions {
		text += c.Type + ": " + c.Message + "; "
	}
	return text
}
