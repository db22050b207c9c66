// SPDX-License-Identifier: Apache-2.0

package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// evict evicts one replica, and tries to evict the other at once.
func (s *suite) evict() {
	pods := s.settled()
	script.Must(eventually.Succeeds(s.ctx, func() error { return s.disruptionAllowed() }))
	tally := s.under("evict", func() {
		script.Mustf(s.evictPod(&pods[0]), "evict the first of two replicas")
		err := s.evictPod(&pods[1])
		if !apierrors.IsTooManyRequests(err) {
			script.Fail("the eviction of the last replica: %v", err)
		}
		s.note("the first of two evictions is admitted, the second refused: %s", err)
		s.settled()
	})
	s.noneFailed(tally)
}

func (s *suite) evictPod(pod *corev1.Pod) error {
	return s.Admin.SubResource("eviction").Create(s.ctx, pod, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
	})
}

// disruptionAllowed returns nil when the PodDisruptionBudget permits one eviction.
func (s *suite) disruptionAllowed() error {
	budget := &policyv1.PodDisruptionBudget{}
	if err := s.Admin.Get(s.ctx, client.ObjectKey{Namespace: releaseNamespace, Name: releaseName}, budget); err != nil {
		return err
	}
	if budget.Status.DisruptionsAllowed != 1 || budget.Status.ObservedGeneration != budget.Generation {
		return errNotAllowed
	}
	return nil
}

// drain drains both nodes, one after the other, as for an upgrade of the nodes.
func (s *suite) drain() {
	s.settled()
	script.Must(eventually.Succeeds(s.ctx, func() error { return s.disruptionAllowed() }))
	tally := s.under("drain", func() {
		for _, w := range workers() {
			start := time.Now()
			script.Get(s.tool(s.ctx, "kubectl", "drain", w.name, "--ignore-daemonsets", "--timeout=3m"))
			took := time.Since(start)
			for _, pod := range s.settled() {
				if pod.Spec.NodeName == w.name {
					script.Fail("%s is on %s, which is drained", pod.Name, w.name)
				}
			}
			script.Get(s.tool(s.ctx, "kubectl", "uncordon", w.name))
			s.note("%s drained after %.1fs", w.name, took.Seconds())
		}
	})
	s.noneFailed(tally)
}
