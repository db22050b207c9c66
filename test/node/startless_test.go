// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// startless sets a limit at which no replica starts. maxUnavailable 0 keeps the old ones; a rollback puts it right.
func (s *suite) startless() {
	before := uids(s.settled())
	var name string
	var ended corev1.ContainerStateTerminated
	tally := s.under("startless", func() {
		s.command("helm upgrade stepgate " + s.helm.Chart + " --namespace stepgate --reset-then-reuse-values " +
			"--set resources.limits.memory=" + startlessLimit + ",resources.requests.memory=" + startlessLimit)
		script.Must(eventually.SucceedsWithin(s.ctx, time.Minute, func() error {
			pods, err := s.replicaPods()
			if err != nil {
				return err
			}
			for _, pod := range pods {
				if before.Has(fmt.Sprint(pod.UID)) {
					continue
				}
				if ended, err = s.killed(pod.Name); err == nil {
					name = pod.Name
					return nil
				}
				err = fmt.Errorf("%s: %w: %v", pod.Name, err, pod.Status.ContainerStatuses)
			}
			return err
		}))
		ready := 0
		for _, pod := range script.Get(s.replicaPods()) {
			if before.Has(fmt.Sprint(pod.UID)) && isReady(&pod) {
				ready++
			}
		}
		if ready != replicas {
			script.Fail("%d of the old replicas are Ready", ready)
		}
		s.note("%s at %s: %s, exit code %d; both old replicas are Ready", name, startlessLimit, ended.Reason, ended.ExitCode)
		s.command("helm rollback stepgate --namespace stepgate --wait")
		s.settled()
	})
	if after := uids(s.settled()); !after.Equal(before) {
		script.Fail("the rollback has replaced the replicas that served: %s", strings.Join(after.UnsortedList(), " "))
	}
	s.noneFailed(tally)
}
