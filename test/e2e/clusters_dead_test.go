// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// outage is a rollout over both clusters in which the second one does not answer from before the commit on. It has to
// stand until the cluster answers, and then to complete by itself. Another rollout, with all its Applications in the
// first cluster, has to complete meanwhile.
type outage struct {
	scenario
	begin func(*cluster.Cluster) (*cluster.Outage, error)
	// restart restarts Argo CD while the cluster does not answer, so that Argo CD knows nothing of what is there: no
	// comparison succeeds.
	restart bool
}

const (
	// outageAtLeast is how long the cluster does not answer. Argo CD tries a sync again after 5, 10, 20, 40 and 80 s,
	// and then gives up.
	outageAtLeast = 30 * time.Second
	// explainedWithin is how long it may take until the texts tell what is wrong: a handshake that is not answered
	// takes 10 s to fail.
	explainedWithin = time.Minute
)

func allOutages() []outage {
	of := func(key, title string) scenario {
		return scenario{
			key: "dead-" + key, title: title, each: 2, world: true, limit: 6 * time.Minute, layout: spread, template: byName, play: commitAtOnceBackwards,
		}
	}
	kill, hang := (*cluster.Cluster).Kill, (*cluster.Cluster).Hang
	return []outage{
		{of("refuses", "connections are refused"), kill, false},
		{of("refuses-restart", "connections are refused, and Argo CD restarts meanwhile"), kill, true},
		{of("hangs", "connections are accepted and not answered"), hang, false},
		{of("hangs-restart", "connections are accepted and not answered, and Argo CD restarts meanwhile"), hang, true},
	}
}

// commitAtOnceBackwards refreshes the last step first and does not wait: Applications of a cluster that does not answer
// may not be compared.
func commitAtOnceBackwards(r *rollout) {
	r.begin()
	r.version("2", r.members)
	for _, env := range backwards() {
		r.refreshAtOnce(r.in(env)...)
		r.pause(time.Second)
	}
}

// outageSettings let Argo CD look at everything again every 30 s, as it does every 2 minutes by default.
func outageSettings() argocd.Settings {
	return argocd.Settings{Resync: shortResync, Jitter: shortJitter, Shards: ahead(0, 0)}
}

// outageResult is an outage that was played.
type outageResult struct {
	outage
	rollouts, beside map[mode]*outcome
	// lasted is how long the cluster did not answer, and back is when it answered again.
	lasted time.Duration
	back   time.Time
}

// measureOutages plays them one after the other, each without the gate and with it at the same time.
func (s *suite) measureOutages(ctx context.Context, all []outage) error {
	var results []*outageResult
	for _, o := range all {
		r := &outageResult{outage: o}
		if err := script.Run(func() { s.playOutage(ctx, r) }); err != nil {
			return fmt.Errorf("%s: %w", o.key, err)
		}
		results = append(results, r)
	}
	return printOutages(s.out, results)
}

func (s *suite) playOutage(ctx context.Context, o *outageResult) {
	script.Must(s.argo.Restart(ctx, outageSettings()))
	beside := scenario{key: o.key + "-beside", each: 1, world: true, limit: 2 * time.Minute, play: commitAtOnceBackwards}
	all := table{o.key: {}, beside.key: {}}
	script.Must(player{s, []mode{off, on}, 2}.prepare(ctx, []scenario{o.scenario, beside}, all))
	o.rollouts, o.beside = all[o.key], all[beside.key]
	began := time.Now()
	dead := script.Get(o.begin(s.elsewhere.Cluster))
	if o.restart {
		script.Must(s.argo.Restart(ctx, outageSettings()))
	}
	var affected, others sync.WaitGroup
	for _, m := range []mode{off, on} {
		affected.Go(o.rollouts[m].play)
		others.Go(o.beside[m].play)
	}
	others.Wait()
	r := o.rollouts[on].rollout
	said := script.Run(func() {
		r.pause(time.Until(began.Add(outageAtLeast)))
		o.read(r)
	})
	o.lasted = time.Since(began)
	script.Must(errors.Join(said, dead.End(ctx)))
	o.back = time.Now()
	affected.Wait()
	for _, m := range []mode{off, on} {
		printOutcome(o.beside[m])
		printOutcome(o.rollouts[m])
	}
}

// read asks of the texts that they say which Application of which cluster holds the rollout up, and why.
func (o *outageResult) read(r *rollout) {
	waits, dead, address := r.in("prod")[0], r.in("dev")[1], script.Get(r.elsewhere.URL()).Host
	for command, wanted := range map[string][]string{
		"explain " + waits.name: {"Argo CD: ", address, dead.name + " in cluster " + away + " ("},
		"explain " + dead.name:  {"Argo CD says", address},
		"get " + r.name:         {dead.name, "cluster " + away},
	} {
		text := ""
		err := r.wait(explainedWithin, func() bool {
			text = script.Get(stepgate(r, strings.Fields(command)...))
			for _, part := range wanted {
				if !strings.Contains(text, part) {
					return false
				}
			}
			return true
		})
		if err != nil {
			script.Fail("stepgate %s does not say %q while a cluster does not answer: %w\n%s", command, wanted, err, text)
		}
	}
}

// stepgate is what a command prints that looks at the namespace of a rollout. Exit code 1 says that something waits.
func stepgate(r *rollout, args ...string) (string, error) {
	command := exec.CommandContext(r.ctx, r.Binary,
		append(args, "--kubeconfig", script.Get(r.AdminKubeconfig()), "-n", string(r.mode))...)
	// Wide enough for no text to be wrapped in the middle of what is looked for.
	command.Env = append(os.Environ(), "COLUMNS=2000")
	text, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	return string(text), err
}

// printOutages prints a table and a line, and says what may not be.
func printOutages(out *report.Printer, results []*outageResult) error {
	out.Line("| the second cluster | lasted, seconds | out of order off / on | complete after it was back, seconds, " +
		"off / on | beside it, seconds off / on |")
	out.Line("|---|---|---|---|---|")
	var problems []error
	early, offEarly, completed := 0, 0, 0
	for _, r := range results {
		without, with := r.rollouts[off], r.rollouts[on]
		out.Line("| %s (`%s`) | %.0f | %d / %d | %s / %s | %s / %s |", r.title, r.key, r.lasted.Seconds(),
			without.outOfOrder(), with.outOfOrder(),
			r.after(without), r.after(with), seconds(r.beside[off].took), seconds(r.beside[on].took))
		offEarly, early = offEarly+without.outOfOrder(), early+with.outOfOrder()+r.beside[on].outOfOrder()
		switch {
		case !with.completed():
			problems = append(problems, fmt.Errorf("%s did not complete with the gate: %s", r.key, with.rollout.summary()),
				with.problem)
		case with.rollout.finished.Before(r.back):
			problems = append(problems, fmt.Errorf("%s completed before the cluster was back", r.key))
		default:
			completed++
		}
		if !r.beside[on].completed() {
			problems = append(problems, fmt.Errorf("%s: the rollout in the other cluster did not complete with the gate: %s",
				r.key, r.beside[on].rollout.summary()), r.beside[on].problem)
		}
	}
	out.Line("\ne2e-clusters: outages=%d off_out_of_order=%d on_out_of_order=%d on_completed=%d", len(results), offEarly,
		early, completed)
	if early > 0 {
		problems = append(problems, fmt.Errorf("a cluster that does not answer: %d starts out of order with the gate", early))
	}
	return errors.Join(problems...)
}

// after is how long after the end of the outage a rollout was complete.
func (o *outageResult) after(of *outcome) string {
	if !of.completed() {
		return "never"
	}
	return fmt.Sprintf("%.1f", of.rollout.finished.Sub(o.back).Seconds())
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f", d.Seconds())
}
