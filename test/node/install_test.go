// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/script"
)

// early are those of starts that came before their turn, as words.
func early(starts []observer.Start) (found []string) {
	for _, start := range starts {
		if start.OutOfOrder() {
			found = append(found, start.Application+" before "+strings.Join(start.Behind, " and "))
		}
	}
	return found
}

// triesWithout is how many commits Argo CD gets to roll one out in the wrong order.
const triesWithout = 3

// rolloutWithout shows that Argo CD alone starts prod before dev: without it, the rollout with stepgate would prove
// nothing.
func (s *suite) rolloutWithout() {
	for range triesWithout {
		starts, took := s.rollout.play()
		if found := early(starts); len(found) > 0 {
			s.note("starts=%d early=%d (%s) complete after %.1fs", len(starts), len(found), strings.Join(found, ", "),
				took.Seconds())
			return
		}
	}
	script.Fail("Argo CD kept the order in %d rollouts without stepgate: the rollouts with it would prove nothing",
		triesWithout)
}

// rolloutWith shows that Argo CD starts in order.
func (s *suite) rolloutWith() {
	since := s.heldSyncs()
	starts, took := s.rollout.play()
	var order []string
	for _, start := range starts {
		order = append(order, start.Application)
	}
	s.note("starts=%d early=%d (%s) complete after %.1fs", len(starts), len(early(starts)), strings.Join(order, ", "),
		took.Seconds())
	if found := early(starts); len(found) > 0 || len(starts) < len(environments()) {
		script.Fail("%d starts, early: %v", len(starts), found)
	}
	held := s.heldSyncs() - since
	s.note("stepgate's Pods held %d operations", held)
	if held == 0 {
		script.Fail("stepgate had nothing to hold: the rollout proves nothing")
	}
}

// heldSyncs is how many operations the replicas have held, by their metrics.
func (s *suite) heldSyncs() int {
	sum := 0
	for _, pod := range s.settled() {
		for _, value := range metric(script.Get(get(s.ctx, pod.Status.PodIP, 8080, "/metrics")),
			`stepgate_operations_changed_total\{[^}]*verb="held"[^}]*\}`) {
			sum += value
		}
	}
	return sum
}

// metric are the values of the series that a pattern matches.
func metric(text, pattern string) (values []int) {
	for _, found := range regexp.MustCompile(`(?m)^`+pattern+` (\d+)`).FindAllStringSubmatch(text, -1) {
		var value int
		if _, err := fmt.Sscan(found[1], &value); err == nil {
			values = append(values, value)
		}
	}
	return values
}

func (s *suite) install() {
	s.before = s.stored()
	s.documented("docs/install.md",
		"helm install stepgate ./charts/stepgate --namespace stepgate --create-namespace --wait",
		"./charts/stepgate", s.helm.Chart)
	s.spread()
	s.selftest()
}

func (s *suite) enforce() {
	s.documented("docs/adopt.md",
		"helm upgrade stepgate CHART --namespace stepgate --reset-then-reuse-values --set config.mode=enforce",
		"CHART", s.helm.Chart+" --wait")
	s.selftest()
	s.spread()
	// The API server learns of a registration a moment after it is stored.
	script.Get(s.writer.NewProbe(s.ctx, "probe"))
	s.writer.Count(&load.Tally{})
}

// selftest runs `helm test`, and sees that a kubelet has run its Pod.
func (s *suite) selftest() {
	before := s.selftestStarts()
	text := s.documented("docs/install.md", "helm test stepgate --namespace stepgate")
	if !regexp.MustCompile(`Phase: +Succeeded`).MatchString(text) {
		script.Fail("helm test: %s", text)
	}
	started := s.selftestStarts()
	if len(started) <= len(before) {
		script.Fail("no kubelet has started the Pod of helm test")
	}
	s.note("helm test: its Pod ran on %s, and succeeded", started[len(started)-1])
}

// selftestStarts are the nodes that have started the Pod of `helm test`.
func (s *suite) selftestStarts() (nodes []string) {
	events := &corev1.EventList{}
	script.Must(s.Admin.List(s.ctx, events, client.InNamespace(releaseNamespace)))
	slices.SortFunc(events.Items, func(a, b corev1.Event) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, e := range events.Items {
		if e.InvolvedObject.Kind == "Pod" && e.InvolvedObject.Name == releaseName+"-selftest" && e.Reason == "Started" {
			nodes = append(nodes, e.Source.Host)
		}
	}
	return nodes
}
