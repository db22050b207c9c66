// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
)

// experiment is part 1: the cost of one decision.
type experiment struct {
	*suite
	*hosted
	rows []*row
	// posters are by address.
	posters map[string]*poster
}

// decisions measures the decision alone, as the webhook's client sees it, and the whole write, as the API server's
// client sees it. First everything is done, for one size after the other; then the first Application is Degraded, and
// the denials of all sizes are measured together.
func decisions(ctx context.Context, s *suite) []goal {
	e := newExperiment(ctx, s)
	for _, siblings := range s.options.siblings {
		e.routed(ctx, s.rollout(ctx, siblings))
	}
	for _, siblings := range s.options.siblings {
		e.allows(ctx, s.rollouts[siblings])
	}
	e.denials(ctx)
	e.print()
	return e.goals()
}

func newExperiment(ctx context.Context, s *suite) *experiment {
	if s.hosted == nil {
		s.hosted = host(ctx, s)
		s.none = newRollout(ctx, s.Admin, "bench-none", map[string]string{"stepgate.io/ignore": "true"}, 3)
	}
	return &experiment{suite: s, hosted: s.hosted, posters: map[string]*poster{}}
}

// allows measures one size with nothing in the way.
func (e *experiment) allows(ctx context.Context, r *rollout) {
	e.settled(ctx, r, allow)
	floor, metered := e.floor(r, e.reader), e.floor(r, e.counter)
	progress("%d siblings: allows, interleaved with the others", r.siblings)
	few := min(max(20000/r.siblings, 10), e.options.samples)
	rows := []*row{
		{sampled: sampled{name: "floor", run: floor}, counted: metered, readsSoFar: noReads, fixed: 1},
		{
			sampled: sampled{
				name: "floor-uncompressed", run: e.floor(r, uncompressed(e.reader)),
			}, counted: e.floor(r, uncompressed(e.counter)), readsSoFar: noReads, fixed: 1,
		},
		{
			sampled: sampled{
				name: "plain", run: e.post(e.plain, r, allow), samples: few, heavy: true,
			}, counted: e.post(e.metered, r, allow), readsSoFar: e.plainReads,
		},
		{
			sampled: sampled{
				name: "allow", run: e.post(e.gate.Webhook, r, allow),
			}, counted: e.post(e.counted.Webhook, r, allow), readsSoFar: e.gateReads,
		},
		{sampled: sampled{name: "allow-barrier", run: e.post(e.barrier.Webhook, r, allow)}, readsSoFar: e.barrierReads},
		{sampled: sampled{name: "write-no-webhook", run: e.write(noWebhook, e.none, allow)}},
		{sampled: sampled{name: "write-always-allow", run: e.write(alwaysUser, r, allow)}},
		{sampled: sampled{name: "write-plain", run: e.write(plainUser, r, allow), samples: few, heavy: true}, like: "plain"},
		{sampled: sampled{name: "write-allow", run: e.write(gateUser, r, allow)}, like: "allow"},
		{sampled: sampled{name: "write-allow-barrier", run: e.write(barrierUser, r, allow)}, readsSoFar: e.barrierReads},
		{sampled: sampled{name: "write-named", run: e.write(unmutatedController, r, allow)}, readsSoFar: e.writeReads},
		{sampled: sampled{name: "write-pinned", run: e.write(controller, r, allow)}, readsSoFar: e.writeReads},
	}
	e.measure(ctx, rows, r.siblings)
}

// denials measures all sizes with a blocker in the first step.
func (e *experiment) denials(ctx context.Context) {
	var rows []*row
	for _, siblings := range e.options.siblings {
		r := e.rollouts[siblings]
		script.Must(r.setHealth(ctx, e.Admin, "Degraded"))
		e.settled(ctx, r, deny)
		rows = append(rows,
			&row{
				sampled: sampled{
					siblings: siblings, name: "deny", run: e.post(e.gate.Webhook, r, deny),
				}, counted: e.post(e.counted.Webhook, r, deny), readsSoFar: e.gateReads,
			},
			&row{sampled: sampled{siblings: siblings, name: "write-deny", run: e.write(gateUser, r, deny)}, like: "deny"},
			&row{sampled: sampled{siblings: siblings, name: "write-always-deny", run: e.write(deniedUser, r, deny)}},
			&row{
				sampled: sampled{
					siblings: siblings, name: "write-held", run: e.write(controller, r, hold),
				}, readsSoFar: e.writeReads,
			},
			&row{sampled: sampled{siblings: siblings, name: "write-no-webhook-again", run: e.write(noWebhook, e.none, allow)}},
		)
	}
	progress("denials of all sizes, interleaved with no webhook")
	e.measure(ctx, rows, 0)
	for _, siblings := range e.options.siblings {
		script.Must(e.rollouts[siblings].setHealth(ctx, e.Admin, "Healthy"))
	}
}

// measure samples the rows together, and then measures the cost of each in a block of its own.
func (e *experiment) measure(ctx context.Context, rows []*row, siblings int) {
	rows = slices.DeleteFunc(rows, func(r *row) bool {
		return len(e.options.cases) > 0 && !slices.Contains(e.options.cases, r.name)
	})
	var cases []*sampled
	for _, r := range rows {
		r.siblings, r.samples = cmp.Or(r.siblings, siblings), cmp.Or(r.samples, e.options.samples)
		cases = append(cases, &r.sampled)
	}
	script.Must(interleave(ctx, e.options.samples, cases))
	for _, r := range rows {
		run, reads := r.counted, r.readsSoFar
		if run == nil {
			run = r.run
		}
		if reads == nil {
			reads = noReads
		}
		times := 100
		if r.heavy {
			times = min(max(2000/r.siblings, 3), 100)
		}
		r.cost = e.block(ctx, times, reads, run)
		r.reads += r.fixed
		if r.counted == nil {
			r.bytes = 0 // a ping of an idle connection
		}
		if e.options.profiles != "" && profiledCases[r.name] {
			e.profile(ctx, r.siblings, r.name, r.run)
		}
		progress("%d siblings: %s: p50 %s, API server CPU %s", r.siblings, r.name, ms(r.p50()), ms(r.cpu))
	}
	e.rows = append(e.rows, rows...)
}

// uncompressed is a client to which the API server compresses no answer.
func uncompressed(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	return config
}

// floor is the bare metadata-only LIST that an allow needs.
func (e *experiment) floor(r *rollout, config *rest.Config) func(context.Context) error {
	client := script.Get(metadata.NewForConfig(config))
	applications := client.Resource(argo.SchemeGroupVersion.WithResource("applications")).Namespace(r.namespace)
	want := 0
	for i := range r.siblings {
		if i*3/r.siblings < 2 {
			want++
		}
	}
	return func(ctx context.Context) error {
		list, err := applications.List(ctx, metav1.ListOptions{LabelSelector: guestbook.StepLabel + " in (env-dev,env-qa)"})
		if err == nil && len(list.Items) != want {
			err = fmt.Errorf("the LIST has %d items, want %d", len(list.Items), want)
		}
		return err
	}
}

func (e *experiment) post(address string, r *rollout, want answer) func(context.Context) error {
	if e.posters[address] == nil {
		e.posters[address] = newPoster(address)
	}
	p := e.posters[address]
	return func(ctx context.Context) error { return p.post(ctx, r, want) }
}

func (e *experiment) write(user string, r *rollout, want answer) func(context.Context) error {
	return func(ctx context.Context) error { return e.patchers[user].patch(ctx, r, want) }
}

func noReads(context.Context) float64 { return 0 }

func (e *experiment) plainReads(context.Context) float64 { return float64(e.meteredReads.Load()) }

// writeReads are the reads of the instance that the API server calls.
func (e *experiment) writeReads(ctx context.Context) float64 { return liveReads(ctx, e.gate) }

func (e *experiment) barrierReads(ctx context.Context) float64 { return liveReads(ctx, e.barrier) }

func (e *experiment) gateReads(ctx context.Context) float64 { return liveReads(ctx, e.counted) }

func liveReads(ctx context.Context, gate *installed.Replica) float64 {
	return script.Get(gate.Metric(ctx, "stepgate_live_reads_total"))
}

// settled waits until all instances of stepgate know the live state: then a decision costs two reads.
func (e *experiment) settled(ctx context.Context, r *rollout, want answer) {
	for _, gate := range []*installed.Replica{e.gate, e.counted, e.barrier} {
		post := e.post(gate.Webhook, r, want)
		script.Must(eventually.Succeeds(ctx, func() error {
			before := liveReads(ctx, gate)
			if err := post(ctx); err != nil {
				return err
			}
			if reads := liveReads(ctx, gate) - before; reads != 2 {
				return fmt.Errorf("a decision costs %v reads, want 2", reads)
			}
			return nil
		}))
	}
}
