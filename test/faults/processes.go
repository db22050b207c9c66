package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

func processFaults() []fault {
	return []fault{
		{"F1", "a replica is killed while it decides: before, between and after its reads", true, killDeciding},
		{"F2", "rolling restart", true, rollingRestart},
		{"F3", "all replicas are down", true, allDown},
		{"F36", "its service account, RBAC, CA and processes are gone; reinstalled", true, reinstall},
	}
}

// killDeciding kills both replicas while a write waits for one of them. The write is not admitted.
func killDeciding(ctx context.Context, t *trial) error {
	siblings := []string{faultproxy.GetApp, faultproxy.ListVersions}
	for name, point := range map[string]struct {
		fault faultproxy.Fault
		reads []string
	}{
		"before the first read":  {faultproxy.Hang, []string{faultproxy.ListSet, faultproxy.GetSet}},
		"before the second read": {faultproxy.Hang, siblings},
		"after the last read":    {faultproxy.Lose, siblings},
	} {
		for i := range t.times(5) {
			if t.quiet.SetDegraded(ctx, i%2 == 0) != load.Right {
				return errors.New("a status write failed")
			}
			before := t.hung(point.reads)
			t.all(faultproxy.Only(point.fault, point.reads...))
			answered := make(chan load.Outcome, 1)
			go func() { answered <- t.quiet.Sync(ctx) }()
			err := eventually.Succeeds(ctx, func() error {
				if t.hung(point.reads) == before {
					return fmt.Errorf("nothing is read %s", name)
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, gate := range t.release.Replicas() {
				gate.Kill()
			}
			t.inject(1)
			if outcome := <-answered; outcome != load.Failed {
				t.problem("a write was answered although who had to decide was killed %s", name)
			}
			t.all()
			if err := t.startAll(ctx); err != nil {
				return err
			}
			if err := t.recover(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// hung counts the reads of some kinds.
func (t *trial) hung(kinds []string) int {
	n := 0
	for _, proxy := range t.proxies {
		for _, kind := range kinds {
			n += proxy.Count(kind)
		}
	}
	return n
}

func (t *trial) startAll(ctx context.Context) error {
	for i := range t.release.Replicas() {
		if err := t.release.Start(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// rollingRestart restarts each replica in turn. No call may fail.
func rollingRestart(ctx context.Context, t *trial) error {
	err := t.under(ctx, func(ctx context.Context) error {
		for i := range t.release.Replicas() {
			if err := t.release.Restart(ctx, i); err != nil {
				return err
			}
			t.inject(1)
		}
		return nil
	})
	if failed := t.writes.Count(load.Failed); failed > 0 {
		t.problem("%d calls failed", failed)
	}
	return err
}

// allDown stops everything: operation writes fail, and no other write does.
func allDown(ctx context.Context, t *trial) error {
	for range t.times(5) {
		for _, gate := range t.release.Replicas() {
			gate.Kill()
		}
		t.inject(1)
		if err := t.onlyOperationsFail(ctx); err != nil {
			return err
		}
		if err := t.startAll(ctx); err != nil {
			return err
		}
		if err := t.recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) onlyOperationsFail(ctx context.Context) error {
	before := t.writes.Count(load.Failed)
	t.load.Burst(ctx, 2)
	for _, r := range t.load.Rollouts() {
		r.Untouched(ctx)
	}
	if t.writes.Count(load.Failed)-before != 2*len(t.load.Rollouts()) {
		t.problem("an operation write was answered although nobody could judge it")
	}
	return ctx.Err()
}

// reinstall takes away all that stepgate has but its registration, which goes on with failurePolicy Fail, and applies
// config/ again. Nothing of that needs the webhook.
func reinstall(ctx context.Context, t *trial) error {
	for range t.times(3) {
		name := metav1.ObjectMeta{Name: "stepgate"}
		in := metav1.ObjectMeta{Namespace: "stepgate", Name: "stepgate"}
		ca := metav1.ObjectMeta{Namespace: "stepgate", Name: "stepgate-ca"}
		for _, o := range []client.Object{
			&corev1.ServiceAccount{ObjectMeta: in}, &corev1.Secret{ObjectMeta: ca}, &rbacv1.Role{ObjectMeta: ca}, &rbacv1.RoleBinding{ObjectMeta: ca},
			&rbacv1.ClusterRole{ObjectMeta: name}, &rbacv1.ClusterRoleBinding{ObjectMeta: name},
		} {
			if err := t.admin.Delete(ctx, o); err != nil {
				return fmt.Errorf("delete %T: %w", o, err)
			}
		}
		t.inject(1)
		// With its rights gone, no decision can be made any more; the API server takes a moment to know.
		err := eventually.Succeeds(ctx, func() error {
			if t.quiet.Sync(ctx) != load.Failed {
				return errors.New("decisions are still made")
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, gate := range t.release.Replicas() {
			gate.Kill()
		}
		if err := t.onlyOperationsFail(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := t.release.Reinstall(ctx); err != nil {
			return err
		}
		if err := t.startAll(ctx); err != nil {
			return err
		}
		if err := t.recover(ctx); err != nil {
			return err
		}
		t.note("works again %s after config/ was applied", time.Since(began).Round(time.Millisecond))
	}
	return nil
}
