package main

import (
	"context"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/release"
)

// experiment is part 1: what one decision costs.
type experiment struct {
	*stand
	*hosted
	samples int
	rows    []*row
	// posters are by address.
	posters map[string]*poster
}

// decisions measures the decision alone, as the webhook's client sees it, and the whole write, as the API server's
// client sees it. First everything is done, for one size after the other; then the first Application is Degraded, and
// the denials of all sizes are measured together.
func decisions(ctx context.Context, s *stand, o options) ([]goal, error) {
	h, err := host(ctx, s)
	if err != nil {
		return nil, err
	}
	e := &experiment{stand: s, hosted: h, samples: o.samples, posters: map[string]*poster{}}
	ignored := map[string]string{"stepgate.io/ignore": "true"}
	if s.none, err = newRollout(ctx, s.admin, "bench-none", ignored, 3); err != nil {
		return nil, err
	}
	for _, siblings := range o.siblings {
		r, err := s.rollout(ctx, siblings)
		if err != nil {
			return nil, err
		}
		if err := e.routed(ctx, r); err != nil {
			return nil, err
		}
	}
	for _, siblings := range o.siblings {
		if err := e.allows(ctx, s.rollouts[siblings]); err != nil {
			return nil, err
		}
	}
	if err := e.denials(ctx, o.siblings); err != nil {
		return nil, err
	}
	e.print()
	return e.goals(), nil
}

// allows measures one size with nothing in the way.
func (e *experiment) allows(ctx context.Context, r *rollout) error {
	if err := e.settled(ctx, r, allow); err != nil {
		return err
	}
	floor, err := e.floor(r, false)
	if err != nil {
		return err
	}
	metered, err := e.floor(r, true)
	if err != nil {
		return err
	}
	progress("%d siblings: allows, interleaved with the others", r.siblings)
	few := min(max(20000/r.siblings, 10), e.samples)
	rows := []*row{
		{sampled: sampled{name: "floor", run: floor}, counted: metered, readsSoFar: e.noReads, fixed: 1},
		{sampled: sampled{name: "plain", run: e.post(e.plain, r, allow), samples: few, heavy: true}, counted: e.post(e.metered, r, allow), readsSoFar: e.plainReadsSoFar},
		{sampled: sampled{name: "allow", run: e.post(e.gate.Webhook, r, allow)}, counted: e.post(e.counted.Webhook, r, allow), readsSoFar: e.gateReads},
		{sampled: sampled{name: "write-no-webhook", run: e.write(noWebhook, e.none, allow)}},
		{sampled: sampled{name: "write-always-allow", run: e.write(alwaysUser, r, allow)}},
		{sampled: sampled{name: "write-plain", run: e.write(plainUser, r, allow), samples: few, heavy: true}, like: "plain"},
		{sampled: sampled{name: "write-allow", run: e.write(gateUser, r, allow)}, like: "allow"},
	}
	return e.measure(ctx, rows, r.siblings)
}

// denials measures all sizes with a blocker in the first step.
func (e *experiment) denials(ctx context.Context, sizes []int) error {
	var rows []*row
	for _, siblings := range sizes {
		r := e.rollouts[siblings]
		if err := r.setHealth(ctx, e.admin, "Degraded"); err != nil {
			return err
		}
		if err := e.settled(ctx, r, deny); err != nil {
			return err
		}
		rows = append(rows,
			&row{sampled: sampled{siblings: siblings, name: "deny", run: e.post(e.gate.Webhook, r, deny)}, counted: e.post(e.counted.Webhook, r, deny), readsSoFar: e.gateReads},
			&row{sampled: sampled{siblings: siblings, name: "write-deny", run: e.write(gateUser, r, deny)}, like: "deny"},
			&row{sampled: sampled{siblings: siblings, name: "write-no-webhook-again", run: e.write(noWebhook, e.none, allow)}},
		)
	}
	progress("denials of all sizes, interleaved with no webhook")
	if err := e.measure(ctx, rows, 0); err != nil {
		return err
	}
	for _, siblings := range sizes {
		if err := e.rollouts[siblings].setHealth(ctx, e.admin, "Healthy"); err != nil {
			return err
		}
	}
	return nil
}

// measure samples the rows together, and then measures the cost of each in a block of its own.
func (e *experiment) measure(ctx context.Context, rows []*row, siblings int) error {
	var cases []*sampled
	for _, r := range rows {
		if r.siblings == 0 {
			r.siblings = siblings
		}
		if r.samples == 0 {
			r.samples = e.samples
		}
		cases = append(cases, &r.sampled)
	}
	if err := interleave(ctx, e.samples, cases); err != nil {
		return err
	}
	for _, r := range rows {
		run, reads := r.counted, r.readsSoFar
		if run == nil {
			run, reads = r.run, e.noReads
		}
		times := 100
		if r.heavy {
			times = min(max(2000/r.siblings, 3), 100)
		}
		var err error
		if r.cost, err = e.block(ctx, times, reads, run); err != nil {
			return fmt.Errorf("%d siblings: %s: %w", r.siblings, r.name, err)
		}
		r.reads += r.fixed
		if r.counted == nil {
			r.bytes = 0 // a ping of an idle connection
		}
		progress("%d siblings: %s: p50 %s, API server CPU %s", r.siblings, r.name, ms(r.p50()), ms(r.cpu))
	}
	e.rows = append(e.rows, rows...)
	return nil
}

// floor is the bare metadata-only LIST that an allow needs.
func (e *experiment) floor(r *rollout, metered bool) (func(context.Context) error, error) {
	config := e.reader
	if metered {
		config = e.counter
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
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
	}, nil
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

func (e *experiment) noReads(context.Context) (float64, error) { return 0, nil }

func (e *experiment) plainReadsSoFar(context.Context) (float64, error) {
	return float64(e.meteredReads.Load()), nil
}

func (e *experiment) gateReads(ctx context.Context) (float64, error) {
	return e.counted.Metric(ctx, "stepgate_live_reads_total")
}

// settled waits until both instances of stepgate know what is live: then a decision costs two reads.
func (e *experiment) settled(ctx context.Context, r *rollout, want answer) error {
	for _, gate := range []*release.Replica{e.gate, e.counted} {
		post := e.post(gate.Webhook, r, want)
		err := eventually.Succeeds(ctx, func() error {
			before, err := gate.Metric(ctx, "stepgate_live_reads_total")
			if err != nil {
				return err
			}
			if err := post(ctx); err != nil {
				return err
			}
			after, err := gate.Metric(ctx, "stepgate_live_reads_total")
			if err == nil && after-before != 2 {
				err = fmt.Errorf("a decision costs %v reads, want 2", after-before)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
