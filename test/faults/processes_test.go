// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

// TestF1_KilledWhileItDecides kills both replicas while a write waits for one of them. The write is not admitted.
func TestF1_KilledWhileItDecides(t *testing.T) {
	f := begin(t, "F1 a replica is killed while it decides: before, between and after its reads")
	siblings := []string{faultproxy.GetApp, faultproxy.ListVersions}
	for name, point := range map[string]struct {
		fault faultproxy.Fault
		reads []string
	}{
		"before the first read":  {faultproxy.Hang, []string{faultproxy.ListSet, faultproxy.GetSet}},
		"before the second read": {faultproxy.Hang, siblings},
		"after the last read":    {faultproxy.Lose, siblings},
	} {
		for i := range times(5) {
			f.setQuiet(i%2 == 0)
			before := f.count(point.reads...)
			f.all(faultproxy.Only(point.fault, point.reads...))
			answered := make(chan load.Outcome, 1)
			go func() { answered <- f.quiet.Sync(f.ctx) }()
			f.Eventually(func() int { return f.count(point.reads...) }).Should(BeNumerically(">", before), name)
			f.release.Kill()
			f.inject(1)
			if outcome := <-answered; outcome != load.Failed {
				f.Errorf("%s to a write although both replicas were killed %s", outcome, name)
			}
			f.all()
			f.startAll()
			f.recover()
		}
	}
}

func (f *trial) startAll() {
	f.Helper()
	for i := range replicas {
		f.Expect(f.release.Start(f.ctx, i)).To(Succeed())
	}
}

// TestF2_RollingRestart restarts each replica in turn. No call may fail.
func TestF2_RollingRestart(t *testing.T) {
	f := begin(t, "F2 rolling restart")
	f.under(func() {
		for i := range replicas {
			f.Expect(f.release.Restart(f.ctx, i)).To(Succeed())
			f.inject(1)
		}
	})
	f.noneFailed()
}

// TestF3_AllDown stops everything: operation writes fail, and no other write does.
func TestF3_AllDown(t *testing.T) {
	f := begin(t, "F3 all replicas are down")
	for range times(5) {
		f.release.Kill()
		f.inject(1)
		f.onlyOperationsFail()
		f.startAll()
		f.recover()
	}
}

func (f *trial) onlyOperationsFail() {
	before, rollouts := f.writes.Count(load.Failed), f.generator.Rollouts()
	f.generator.Burst(f.ctx, 2)
	for _, r := range rollouts {
		r.Untouched(f.ctx)
	}
	if f.writes.Count(load.Failed)-before != 2*len(rollouts) {
		f.Errorf("an operation write was answered although no replica was there to decide")
	}
}

// TestF36_Reinstall deletes everything that stepgate has except its registration, which stays with failurePolicy Fail,
// and applies config/ again. None of that needs the webhook.
func TestF36_Reinstall(t *testing.T) {
	f := begin(t, "F36 its service account, RBAC, CA and processes are gone; reinstalled")
	for range times(3) {
		name := metav1.ObjectMeta{Name: "stepgate"}
		in := metav1.ObjectMeta{Namespace: "stepgate", Name: "stepgate"}
		ca := metav1.ObjectMeta{Namespace: "stepgate", Name: "stepgate-ca"}
		for _, o := range []client.Object{
			&corev1.ServiceAccount{ObjectMeta: in}, &corev1.Secret{ObjectMeta: ca}, &rbacv1.Role{ObjectMeta: ca},
			&rbacv1.RoleBinding{ObjectMeta: ca},
			&rbacv1.ClusterRole{ObjectMeta: name}, &rbacv1.ClusterRoleBinding{ObjectMeta: name},
		} {
			f.Expect(f.Admin.Delete(f.ctx, o)).To(Succeed(), "delete %T", o)
		}
		f.inject(1)
		// Without its rights it cannot decide any more; the API server takes a moment to see that.
		f.Eventually(func() load.Outcome { return f.quiet.Sync(f.ctx) }).Should(Equal(load.Failed))
		f.release.Kill()
		f.onlyOperationsFail()
		began := time.Now()
		f.Expect(f.release.Reinstall(f.ctx)).To(Succeed())
		f.startAll()
		f.recover()
		f.note("works again %s after config/ was applied", time.Since(began).Round(time.Millisecond))
	}
}
