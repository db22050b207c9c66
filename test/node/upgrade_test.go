// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/script"
)

// writesAtOnce and writesPerSecond are the load: operation writes with known right answers.
const (
	writesAtOnce    = 4
	writesPerSecond = 20
)

// under sends writes while work runs, and returns how they were answered. The first call for a name makes the
// namespaces of it.
func (s *suite) under(name string, work func()) *load.Tally {
	generator := script.Get(s.writer.NewGenerator(s.ctx, load.Options{
		Name: name, Rollouts: writesAtOnce, Rate: writesPerSecond,
	}))
	tally := &load.Tally{}
	s.writer.Count(tally)
	generator.During(s.ctx, work)
	s.writer.Count(&load.Tally{})
	return tally
}

// noneFailed expects that every write was answered, and rightly.
func (s *suite) noneFailed(tally *load.Tally) {
	s.note("load: %s", tally)
	if tally.Calls() == 0 || tally.Count(load.Failed)+tally.Count(load.WrongAllow)+tally.Count(load.WrongDeny) > 0 {
		script.Fail("answers: %s", strings.Join(tally.Texts(), "\n"))
	}
}

// upgrade changes values that replace the Pods, and values that do not.
func (s *suite) upgrade() {
	before := uids(s.settled())
	tally := s.under("upgrade", func() {
		s.command("helm upgrade stepgate " + s.helm.Chart + " --namespace stepgate --reset-then-reuse-values --wait " +
			"--set shutdownDelay=12s,pin.mode=candidate,networkPolicy.enabled=true")
		s.settled()
	})
	after := s.spread()
	if uids(after).HasAny(before.UnsortedList()...) {
		script.Fail("the upgrade has not replaced all Pods")
	}
	for _, pod := range after {
		if !strings.Contains(strings.Join(pod.Spec.Containers[0].Args, " "), "--shutdown-delay=12s") {
			script.Fail("%s does not have the new value", pod.Name)
		}
	}
	policy := &networkingv1.NetworkPolicy{}
	script.Must(s.Admin.Get(s.ctx, client.ObjectKey{Namespace: releaseNamespace, Name: releaseName}, policy))
	s.note("both Pods replaced, each on a node of its own; the NetworkPolicy is stored, and without effect: no CNI " +
		"plugin here reads it")
	s.noneFailed(tally)
}

func uids(pods []corev1.Pod) sets.Set[string] {
	all := sets.New[string]()
	for _, pod := range pods {
		all.Insert(fmt.Sprint(pod.UID))
	}
	return all
}
