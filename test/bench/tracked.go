// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
	"github.com/stepgate/stepgate/webhook/settings"
)

// wavesOff and wavesOn are namespaces of the same Applications, each with a stepgate of its own.
const wavesOff, wavesOn = "bench-waves-off", "bench-waves-on"

// waves of a parent in part 7.
const mostWaves = 4

// tracked is part 7: what the API server pays for Applications that Argo CD tracks, without waves and with them. All
// writes are server dry-runs.
func tracked(ctx context.Context, s *suite) []goal {
	var rows []*row
	e := &experiment{suite: s}
	for _, namespace := range []string{wavesOff, wavesOn} {
		o := installed.Options{Registration: installed.Registration{
			Name: "stepgate-" + namespace, Namespaces: []string{namespace},
		}}
		if namespace == wavesOn {
			o.Waves, o.Args = true, []string{"--waves"}
		}
		gate := s.startGate(ctx, o)
		reads := func(ctx context.Context) float64 { return liveReads(ctx, gate) }
		script.Must(s.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		script.Must(s.children(ctx, namespace))
		sync := encode(map[string]any{"operation": guestbook.RollingSync()})
		status := encode(map[string]any{"status": map[string]any{"reconciledAt": metav1.Now()}})
		of := func(name, app string, patch []byte) *row {
			run := func(ctx context.Context) error {
				want := allow
				if bytes.Equal(patch, status) {
					want = hold // there is no operation
				}
				return send(ctx, s.patchers[noWebhook].client.Patch(types.MergePatchType).Namespace(namespace).
					Resource("applications").Name(app).Param("dryRun", "All").Body(patch),
					&rollout{namespace: namespace, target: app}, want)
			}
			return &row{
				sampled: sampled{name: name + " " + namespace, siblings: s.options.tracked, run: run}, readsSoFar: reads,
			}
		}
		rows = append(rows, of("status", child("plain", 0), status),
			of("sync, a parent without waves", child("plain", 0), sync))
		if namespace == wavesOn {
			last := of("sync, the last wave", child("ordered", mostWaves-1), sync)
			// The children have just appeared: for a moment, others may.
			script.Must(eventually.SucceedsWithin(ctx, time.Minute, func() error { return last.run(ctx) }))
			rows = append(rows, of("sync, what it has had", child("ordered", 0), sync), last)
		}
	}
	progress("%d Applications in each of two namespaces that Argo CD tracks", s.options.tracked)
	e.measure(ctx, rows, 0)
	s.out.Line("\nWrites of one of %d Applications that Argo CD tracks, in a namespace without waves and in one with "+
		"them\n", s.options.tracked)
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "case\tsamples\tp50\tp99\treads\tAPI server CPU\t")
	for _, r := range e.rows {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%.1f\t%s\t\n", r.name, len(r.took), ms(r.p50()),
			ms(quantile(r.took, 0.99)), r.reads, ms(r.cpu))
	}
	_ = table.Flush()
	return nil
}

// child is the name of an Application of a parent.
func child(parent string, i int) string { return parent + "-" + strconv.Itoa(i) }

// children creates the Applications of a namespace: half of them are of a parent with waves. All are done but the first
// one of the last wave, whose sync is next.
func (s *suite) children(ctx context.Context, namespace string) error {
	set := guestbook.Set(namespace)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	add := func(name string, annotations map[string]string) {
		app := guestbook.Application(set, "dev")
		app.Name, app.OwnerReferences, app.Labels, app.Annotations = name, nil, nil, annotations
		group.Go(func() error { return create(ctx, s.Admin, app, name == child("ordered", mostWaves-1)) })
	}
	add("plain", nil)
	add("ordered", map[string]string{settings.WavesAnnotation: "true"})
	for i := range s.options.tracked {
		parent, number := "plain", i/2
		if i%2 == 1 {
			parent = "ordered"
		}
		name := child(parent, number)
		add(name, map[string]string{
			common.AnnotationKeyAppInstance: parent + ":argoproj.io/Application:" + namespace + "/" + name,
			synccommon.AnnotationSyncWave:   strconv.Itoa(number % mostWaves),
		})
	}
	return group.Wait()
}
