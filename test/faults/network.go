package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

const (
	// outOfService is how long a replica that is cut off may take to get no new connections: two probe periods of the
	// manifests would be 20 s; here it is what the probe itself takes.
	outOfService = 3 * time.Second
	// drained is after how long the API server has no call left that goes to it: a call that was sent there takes 80 %
	// of the webhook's time to fail.
	drained = outOfService + 2*webhookTimeout
)

// partition cuts replica 0 off. Its calls fail, until it is not called any more: that has to be soon, although the
// API server's connections to it stay open.
func partition(ctx context.Context, t *trial) error {
	for range t.times(5) {
		var cut time.Time
		err := t.under(ctx, func(ctx context.Context) error {
			cut = time.Now()
			t.proxies[0].Hold()
			t.inject(1)
			err := eventually.Succeeds(ctx, func() error {
				if t.release.Balancer.Ready() > 1 {
					return fmt.Errorf("the replica is still ready")
				}
				return nil
			})
			if err != nil {
				return err
			}
			if took := time.Since(cut); took > outOfService {
				t.problem("a replica without API server was ready for %s", took.Round(time.Millisecond))
			}
			return pass(ctx, drained+5*time.Second-time.Since(cut))
		})
		if err != nil {
			return err
		}
		late := 0
		for _, f := range t.writes.Failures() {
			if f.Began.Sub(cut) > drained {
				late++
			}
		}
		if late > 0 {
			t.problem("%d calls still went to a replica that was cut off for more than %s", late, drained)
		}
		if err := t.recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// eventsDown fails the creation of Events. Each write here is the first denial of its Application, which has one.
func eventsDown(ctx context.Context, t *trial) error {
	const perFault = 6
	for _, way := range []struct {
		name  string
		fault faultproxy.Fault
	}{
		{"403", faultproxy.Answer(http.StatusForbidden, 0, metav1.StatusReasonForbidden)},
		{"500", faultproxy.Answer(http.StatusInternalServerError, 0, metav1.StatusReasonInternalError)},
		{"reset", faultproxy.Abort},
		{"hang", faultproxy.Hang}, // the last, because the next Event waits for it
	} {
		tried := t.proxies[0].Count(faultproxy.PostEvent) + t.proxies[1].Count(faultproxy.PostEvent)
		t.all(faultproxy.Only(way.fault, faultproxy.PostEvent))
		for i := range perFault {
			r, err := t.writer.NewRollout(ctx, t.cluster.Cluster, fmt.Sprintf("events-%s-%d", way.name, i))
			if err != nil {
				return err
			}
			r.SetDegraded(ctx, true)
			r.Sync(ctx)
			t.inject(1)
		}
		err := eventually.Succeeds(ctx, func() error {
			if t.proxies[0].Count(faultproxy.PostEvent)+t.proxies[1].Count(faultproxy.PostEvent) == tried {
				return fmt.Errorf("no Event was tried, so %s was not tested", way.name)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := t.recover(ctx); err != nil {
			return err
		}
	}
	if failed := t.writes.Count(load.Failed); failed > 0 {
		t.problem("%d decisions were changed by Events", failed)
	}
	if slowest := t.writes.Percentile(100); slowest > time.Second {
		t.problem("a decision was delayed: %s", slowest)
	}
	t.note("slowest write %s", t.writes.Percentile(100).Round(time.Millisecond))
	return nil
}
