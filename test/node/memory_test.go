// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// attackers is how many clients send the requests that take most memory, straight to one Pod.
	attackers = 16
	// attackFor is how long they do it at the chart's own limit.
	attackFor = 15 * time.Second
	// recoversWithin is how long after a kill writes may fail: a kubelet looks every second at which containers run,
	// and the API server gives a replica that does not answer 5 s.
	recoversWithin = 10 * time.Second
	// lowLimit is a memory limit that is enough until such requests come.
	lowLimit = "64Mi"
	// startlessLimit is one that is not enough to start.
	startlessLimit = "8Mi"
)

// heavyBodies are the requests of test/faults that take most memory.
func heavyBodies(review []byte) [][]byte {
	with := func(field, value string) []byte {
		return bytes.Replace(review, []byte(`"object":{`), []byte(`"object":{"`+field+`":`+value+`,`), 1)
	}
	list := func(item string, bytes int) string {
		return "[" + strings.Repeat(item+",", bytes/(len(item)+1)) + item + "]"
	}
	return [][]byte{
		with("status", `{"history":`+list("{}", 3*19_900)+`}`),
		with("operation", `{"sync":{"syncOptions":`+list(`""`, 3*190_000)+`}}`),
		with("spec", `{"project":"`+strings.Repeat("x", 6_700_000)+`"}`),
		with("x", strings.Repeat("[", 5000)+list("[]", 3_350_000)+strings.Repeat("]", 5000)),
	}
}

// attack sends heavy requests to a Pod until ctx is done, and returns how many were answered.
func (s *suite) attack(ctx context.Context, pod *corev1.Pod) (answered int) {
	rollout := script.Get(s.writer.NewRollout(s.ctx, fmt.Sprintf("attack-%d", time.Now().UnixNano())))
	bodies := heavyBodies(script.Get(rollout.Review()))
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second,
	}
	defer client.CloseIdleConnections()
	url := fmt.Sprintf("https://%s:10250/validate?timeout=5s", pod.Status.PodIP)
	var group sync.WaitGroup
	var mu sync.Mutex
	for i := range attackers {
		group.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				response, err := client.Post(url, "application/json", bytes.NewReader(bodies[n%len(bodies)]))
				if err != nil {
					continue // the replica may have been killed
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				mu.Lock()
				answered++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return answered
}

// withinLimit shows that such requests do not take a replica beyond the limit that the chart sets.
func (s *suite) withinLimit() {
	target := s.settled()[0]
	ctx, cancel := context.WithTimeout(s.ctx, attackFor)
	defer cancel()
	answered := 0
	tally := s.under("within", func() { answered = s.attack(ctx, &target) })
	after := script.Get(s.pod(target.Name))
	limit, most := s.memory(after)
	s.note("%d requests of up to 6.7 MB by %d clients: %.0f of %.0f MiB used at most, %d restarts", answered, attackers,
		most, limit, restarts(after))
	if restarts(after) > 0 || answered == 0 {
		script.Fail("%d restarts of %s, %d requests answered", restarts(after), target.Name, answered)
	}
	s.noneWrong(tally)
	s.settled()
}

// beyondLimit lowers the limit and sends the same requests to one replica.
func (s *suite) beyondLimit() {
	s.command("helm upgrade stepgate " + s.helm.Chart + " --namespace stepgate --reset-then-reuse-values --wait " +
		"--set resources.limits.memory=" + lowLimit + ",resources.requests.memory=" + lowLimit)
	// The replicas before the upgrade shared a node, after the drains.
	target := s.spread()[0]
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	var killed corev1.ContainerStateTerminated
	tally := s.under("beyond", func() {
		go func() {
			defer cancel()
			_ = eventually.Succeeds(ctx, func() (err error) {
				killed, err = s.killed(target.Name)
				return err
			})
		}()
		s.attack(ctx, &target)
	})
	if killed.Reason == "" {
		script.Fail("%s was not killed at a limit of %s", target.Name, lowLimit)
	}
	pods := s.settled()
	s.note("%s at %s: the kubelet shows lastState %s, exit code %d, and restarts it", target.Name, lowLimit,
		killed.Reason, killed.ExitCode)
	row := strings.Split(strings.TrimSpace(s.command("kubectl --namespace=stepgate get pods")), "\n")
	for _, line := range row {
		s.note("  %s", line)
	}
	for _, pod := range pods {
		if pod.Name != target.Name && restarts(&pod) > 0 {
			script.Fail("the other replica, %s, was restarted as well", pod.Name)
		}
	}
	s.noneWrong(tally)
	late := 0
	for _, failure := range tally.Failures() {
		if failure.Began.After(killed.FinishedAt.Add(recoversWithin)) {
			late++
		}
	}
	if late > 0 {
		script.Fail("%d writes failed that began later than %s after the kill", late, recoversWithin)
	}
	s.note("the other replica answers: of %d writes that failed, none began later than %s after the kill",
		tally.Count(load.Failed), recoversWithin)
	s.noneFailed(s.under("after", func() { s.pause(5 * time.Second) }))
}

// noneWrong expects that nothing was wrongly admitted or denied, and that most writes were answered. A write that no
// replica answers in time fails: that is safe.
func (s *suite) noneWrong(tally *load.Tally) {
	s.note("load: %s", tally)
	if tally.Count(load.Right) == 0 || tally.Count(load.WrongAllow)+tally.Count(load.WrongDeny) > 0 {
		script.Fail("answers: %s", strings.Join(tally.Texts(), "\n"))
	}
}

// killed is how the container of a Pod ended, if the kernel killed it for its memory.
func (s *suite) killed(name string) (corev1.ContainerStateTerminated, error) {
	pod, err := s.pod(name)
	if err != nil {
		return corev1.ContainerStateTerminated{}, err
	}
	for _, c := range pod.Status.ContainerStatuses {
		for _, ended := range []*corev1.ContainerStateTerminated{c.LastTerminationState.Terminated, c.State.Terminated} {
			if ended != nil && ended.Reason == "OOMKilled" {
				return *ended, nil
			}
		}
	}
	return corev1.ContainerStateTerminated{}, errors.New("it has not been killed")
}

// restarts is how often the container of a Pod was started again.
func restarts(pod *corev1.Pod) int32 {
	for _, c := range pod.Status.ContainerStatuses {
		return c.RestartCount
	}
	return 0
}

// pause waits.
func (s *suite) pause(d time.Duration) {
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}
