// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// crowded is the namespace that all share, perSmall is how many Applications each of its small ApplicationSets has,
	// and atOnce is of how many ApplicationSets one is written at once.
	crowded, perSmall, atOnce = "bench-shared", 10, 20
)

// shared is part 6: all Applications are in one namespace, as most people have them. An allowed write should cost the
// same for each of its ApplicationSets.
func shared(ctx context.Context, s *suite) []goal {
	e := newExperiment(ctx, s)
	script.Must(s.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: crowded}}))
	create := func(name string, siblings int) *rollout {
		set := guestbook.Set(crowded)
		set.Name = name
		return rolloutOf(ctx, s.Admin, set, siblings)
	}
	all, small := 0, []*rollout{}
	for i := range s.options.small {
		small = append(small, create(fmt.Sprint("small-", i), perSmall))
		all += perSmall
	}
	var rollouts []*rollout
	for _, siblings := range s.options.crowd {
		rollouts = append(rollouts, create(fmt.Sprint("set-", siblings), siblings))
		all += siblings
	}
	for _, r := range rollouts {
		e.proven(ctx, r)
	}
	progress("%d Applications in %s: allows of all sizes, interleaved with no webhook", all, crowded)
	// LISTs and many writes at once keep the API server so busy that they would be what is measured of the others.
	for _, cases := range []func(*rollout) []*row{e.oneWrite, e.oneByList} {
		var rows []*row
		for _, r := range rollouts {
			rows = append(rows, cases(r)...)
		}
		e.measure(ctx, rows, 0)
	}
	e.measure(ctx, e.manyWrites(small[:min(atOnce, len(small))]), 0)
	goals := e.ofCrowd(all)
	e.ofReads(ctx, rollouts)
	return goals
}

// ofReads prints how long an allowed write waits for each of its reads. They run side by side.
func (e *experiment) ofReads(ctx context.Context, rollouts []*rollout) {
	e.out.Line("")
	for _, r := range rollouts {
		kinds := []string{
			"application_barrier", "applicationset_get", "applicationset_metadata_get", "applicationset_metadata_list",
		}
		before := e.readTimes(ctx, kinds)
		for range e.options.samples {
			script.Must(e.patchers[barrierUser].store(ctx, r, allow))
		}
		text := fmt.Sprintf("%d siblings: an allowed write waits on average for", r.siblings)
		for i, after := range e.readTimes(ctx, kinds) {
			if mean := (after - before[i]) / time.Duration(e.options.samples); mean > 0 {
				text += fmt.Sprintf(" %s %s", kinds[i], ms(mean))
			}
		}
		e.out.Line("%s", text)
	}
}

func (e *experiment) readTimes(ctx context.Context, kinds []string) (all []time.Duration) {
	for _, kind := range kinds {
		seconds := script.Get(e.barrier.Total(ctx, "stepgate_live_read_duration_seconds", "kind", kind))
		all = append(all, time.Duration(seconds*float64(time.Second)))
	}
	return all
}

func (e *experiment) oneWrite(r *rollout) []*row {
	return []*row{
		{sampled: sampled{siblings: r.siblings, name: "write-no-webhook", run: e.stored(noWebhook, r)}},
		{sampled: sampled{siblings: r.siblings, name: "write-idle", run: e.stored(idleUser, r)}},
		{
			sampled:    sampled{siblings: r.siblings, name: "write-allow", run: e.stored(barrierUser, r)},
			readsSoFar: e.barrierReads,
		},
	}
}

func (e *experiment) oneByList(r *rollout) []*row {
	list := sampled{siblings: r.siblings, name: "write-allow-list", run: e.stored(gateUser, r), heavy: true}
	list.samples = min(10, e.options.samples)
	return []*row{{sampled: list, readsSoFar: e.writeReads}}
}

// manyWrites are one write of each of some rollouts, all at once.
func (e *experiment) manyWrites(rollouts []*rollout) []*row {
	many := func(name, user string) sampled {
		return sampled{
			siblings: perSmall, name: name, samples: min(20, e.options.samples), heavy: true,
			run: func(ctx context.Context) error {
				group, groupCtx := errgroup.WithContext(ctx)
				for _, r := range rollouts {
					group.Go(func() error { return e.stored(user, r)(groupCtx) })
				}
				return group.Wait()
			},
		}
	}
	return []*row{
		{sampled: many("many-no-webhook", noWebhook)},
		{sampled: many("many-allow", barrierUser), readsSoFar: e.barrierReads},
	}
}

// stored writes an operation of the target that may start, for good.
func (e *experiment) stored(user string, r *rollout) func(context.Context) error {
	return func(ctx context.Context) error { return e.patchers[user].store(ctx, r, allow) }
}

// proven waits until an allow of the instance with the write barrier rests on that.
func (e *experiment) proven(ctx context.Context, r *rollout) {
	passed := func() float64 {
		return script.Get(e.barrier.Metric(ctx, "stepgate_live_reads_total", "kind", "application_barrier", "result", "ok"))
	}
	script.Must(eventually.Succeeds(ctx, func() error {
		before := passed()
		if err := e.patchers[barrierUser].patch(ctx, r, allow); err != nil {
			return err
		}
		if passed() == before {
			return fmt.Errorf("the write barrier was not used for %s", r.target)
		}
		return nil
	}))
}

// ofCrowd prints the cases, each beside the one without a webhook.
func (e *experiment) ofCrowd(all int) []goal {
	e.out.Line("\n%d Applications in one namespace; write-allow has the write barrier, write-allow-list has not, and "+
		"write-idle meets two webhooks that look at nothing; all are stored; many-* are writes of %d ApplicationSets at "+
		"once", all, min(atOnce, e.options.small))
	e.out.Line("")
	table := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table,
		"siblings\tcase\tsamples\tp50\tp99\treads\tAPI server CPU\tover no webhook\tCPU over no webhook\t")
	var slowest, dearest float64
	for _, r := range e.rows {
		none := "write-no-webhook"
		if strings.HasPrefix(r.name, "many-") {
			none = "many-no-webhook"
		}
		over, cpu := e.ratio(r.siblings, r.name, none), float64(r.cpu)/float64(max(e.row(r.siblings, none).cpu, 1))
		if r.name == "write-allow" {
			slowest, dearest = max(slowest, over), max(dearest, cpu)
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%d\t%s\t%s\t%.1f\t%s\t%s\t%s\t\n", r.siblings, r.name, len(r.took), ms(r.p50()),
			ms(quantile(r.took, 0.99)), r.reads, ms(r.cpu), times(over), times(cpu))
	}
	_ = table.Flush()
	return []goal{
		{what: "write allowed in a large namespace, p50 over no webhook, the worst size", measured: slowest, most: 3,
			unit: "x"},
		{what: "API server's CPU for it, over no webhook, the worst size", measured: dearest, most: 2, unit: "x"},
	}
}
