// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// rolledAtOnce is how many ApplicationSets roll out at a time. More than the API server has cores for would measure
	// how it fails: with 4 on two cores, the watch of a client lags for seconds.
	rolledAtOnce = 2
	// askedAgain is how long after a sync was held the ApplicationSet controller asks again.
	askedAgain = time.Second
)

// rolled is what a rollout took.
type rolled struct {
	applications int
	took         time.Duration
	// held counts the syncs that were held, and failed those whose writes came to nothing, as where stepgate could not
	// decide in time. Argo CD asks again, and so does this.
	held, failed int64
	// server, etcd and stepgate are the time of a core, beyond what they use without a rollout.
	server, etcd, stepgate time.Duration
	// highest is the peak of stepgate's memory, in MiB.
	highest float64
}

// rollouts rolls one commit out without stepgate, and the next one with it, while Argo CD writes the statuses of the
// fleet.
func (f *fleet) rollouts(ctx context.Context) {
	without := f.rollOut(ctx, nil)
	i := f.instance(ctx, fmt.Sprintf("stepgate-%d-rolling", f.sets*perSet), f.namespaces, false, true)
	with := f.rollOut(ctx, i)
	f.remove(ctx, i)
	f.out.Line("\n%d of %d Applications roll out, in %d namespaces", with.applications, f.sets*perSet, len(f.namespaces))
	for i, r := range []rolled{without, with} {
		f.out.Line("%s stepgate: took %s; for the rollout alone, the API server took %.1f s of a core, etcd %.1f s, "+
			"stepgate %.1f s and at most %.0f MiB; syncs held: %d, failed and asked for again: %d",
			[]string{"without", "with"}[i], r.took.Round(time.Second), r.server.Seconds(), r.etcd.Seconds(),
			r.stepgate.Seconds(), r.highest, r.held, r.failed)
	}
	f.out.Line("with over without: API server %s, etcd %s, time %s", times(ratio(with.server, without.server)),
		times(ratio(with.etcd, without.etcd)), times(ratio(with.took, without.took)))
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// rollOut rolls the next commit out to some of the ApplicationSets. i is nil if no stepgate runs.
func (f *fleet) rollOut(ctx context.Context, i *instance) (r rolled) {
	f.commits++
	load := f.load(ctx)
	defer load.stop()
	pids := []int{f.server, f.etcd, os.Getpid()}
	if i != nil {
		pids[2] = i.Pid()
	}
	used := func(during func()) (cpu []time.Duration, took time.Duration) {
		began := time.Now()
		for _, pid := range pids {
			cpu = append(cpu, -script.Get(process.CPUTime(pid)))
		}
		during()
		for n, pid := range pids {
			cpu[n] += script.Get(process.CPUTime(pid))
		}
		return cpu, time.Since(began)
	}
	before, window := used(func() { script.Must(sleep(ctx, f.options.window)) })
	if i != nil {
		script.Must(i.ForgetPeak())
	}
	var held, failed atomic.Int64
	cpu, took := used(func() {
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(rolledAtOnce)
		for n := range f.options.rolling / perSet {
			set := f.set(2*len(f.namespaces) + n)
			if set.operated {
				continue
			}
			r.applications += perSet
			group.Go(func() error { return f.rollOutSet(groupCtx, set, &held, &failed) })
		}
		script.Must(group.Wait())
	})
	alone := func(n int) time.Duration {
		return cpu[n] - time.Duration(float64(before[n])*took.Seconds()/window.Seconds())
	}
	r.took, r.held, r.failed, r.server, r.etcd = took, held.Load(), failed.Load(), alone(0), alone(1)
	if i != nil {
		r.stepgate, r.highest = alone(2), script.Get(i.PeakMiB())
	}
	return r
}

// rollOutSet writes what Argo CD writes while the Applications of one ApplicationSet go to the next commit, step by step.
// It does not wait for anything to be deployed.
func (f *fleet) rollOutSet(ctx context.Context, s *fleetSet, held, failed *atomic.Int64) error {
	commit := commit(s.repository, history+f.commits)
	for j := range perSet {
		if err := f.changed(ctx, s, j, func(app *argo.Application) {
			guestbook.Compare(app, time.Now(), commit, argo.SyncStatusCodeOutOfSync, "Healthy")
		}); err != nil {
			return err
		}
	}
	for _, step := range []string{"", "1", "2", "3"} {
		for j := range perSet {
			if strconv.Itoa(j*3/perSet+1) != step {
				continue
			}
			if err := f.roll(ctx, s, j, commit, held, failed); err != nil {
				return err
			}
		}
		if err := f.recorded(ctx, s, step, commit); err != nil {
			return err
		}
	}
	return nil
}

// roll syncs one Application as soon as it may.
func (f *fleet) roll(
	ctx context.Context, s *fleetSet, j int, commit string, held, failed *atomic.Int64,
) error {
	body := encode(map[string]any{"operation": guestbook.RollingSync()})
	for {
		var written struct {
			Operation json.RawMessage `json:"operation"`
		}
		result := f.patchers[controller].client.Patch(types.MergePatchType).Namespace(s.Namespace).
			Resource("applications").Name(s.application(j)).Body(body).Do(ctx)
		err := result.Error()
		if err == nil {
			text, _ := result.Raw() // it has the same error
			err = json.Unmarshal(text, &written)
		}
		switch {
		case err == nil && len(written.Operation) > 0:
			return f.synced(ctx, s, j, commit)
		case err == nil:
			held.Add(1)
		case apierrors.IsInternalError(err) || apierrors.IsForbidden(err):
			progress("sync of %s: %v", s.application(j), err)
			failed.Add(1)
		default:
			return fmt.Errorf("sync of %s: %w", s.application(j), err)
		}
		if err := sleep(ctx, askedAgain); err != nil {
			return err
		}
	}
}

// synced writes how a sync starts and succeeds.
func (f *fleet) synced(ctx context.Context, s *fleetSet, j int, commit string) error {
	began := time.Now()
	if err := f.changed(ctx, s, j, func(app *argo.Application) { guestbook.Start(app, began) }); err != nil {
		return err
	}
	return f.changed(ctx, s, j, func(app *argo.Application) {
		guestbook.Finish(app, time.Now(), commit)
		guestbook.Compare(app, time.Now().Add(time.Second), commit, argo.SyncStatusCodeSynced, "Healthy")
	})
}

// changed writes an Application as the application controller does.
func (f *fleet) changed(ctx context.Context, s *fleetSet, j int, how func(*argo.Application)) error {
	app := &argo.Application{}
	if err := f.Admin.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.application(j)}, app); err != nil {
		return err
	}
	before := app.DeepCopy()
	how(app)
	return f.Admin.Patch(ctx, app, client.MergeFrom(before), client.FieldOwner("argocd-application-controller"))
}

// recorded writes the status of an ApplicationSet as its controller does after a step; before the first one, all are
// Waiting.
func (f *fleet) recorded(ctx context.Context, s *fleetSet, step, commit string) error {
	set := &argo.ApplicationSet{}
	if err := f.Admin.Get(ctx, client.ObjectKeyFromObject(s.ApplicationSet), set); err != nil {
		return err
	}
	before, now := set.DeepCopy(), metav1.Now()
	for n := range set.Status.ApplicationStatus {
		status := &set.Status.ApplicationStatus[n]
		switch step {
		case "":
			status.Status = "Waiting"
		case status.Step:
			status.Status = "Healthy"
		default:
			continue
		}
		status.LastTransitionTime, status.TargetRevisions = &now, []string{commit}
	}
	owner := client.FieldOwner("argocd-applicationset-controller")
	return f.Admin.Status().Patch(ctx, set, client.MergeFrom(before), owner)
}
