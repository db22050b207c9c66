// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/test/script"
)

// chartLimit is the memory limit of the chart, in MiB.
const chartLimit = 256

// inspect looks at the running containers from outside: what the kernel knows of them, and what answers at their ports.
func (s *suite) inspect() {
	for _, pod := range s.spread() {
		s.inspectProcess(&pod)
		s.inspectPorts(&pod)
		limit, most := s.memory(&pod)
		if limit != chartLimit {
			script.Fail("the cgroup of %s has a memory limit of %.0f MiB", pod.Name, limit)
		}
		log := script.Get(s.tool(s.ctx, "kubectl", "--namespace="+releaseNamespace, "logs", pod.Name))
		if !strings.Contains(log, `"level":"info"`) || strings.Contains(log, "memory limit cannot be read") ||
			strings.Contains(log, `"level":"error"`) {
			script.Fail("the log of %s: %s", pod.Name, log)
		}
		s.note("%s on %s: memory limit %.0f MiB in its cgroup, %.0f used at most; GOMEMLIMIT follows it", pod.Name,
			pod.Spec.NodeName, limit, most)
	}
	s.note("user 65532 (the kubelet takes no group from the image: it is 0), no capability, no new privileges, seccomp " +
		"filter, read-only root file system; the probes and all ports answer")
}

// inspectProcess looks at the process in /proc.
func (s *suite) inspectProcess(pod *corev1.Pod) {
	status := s.process(container(pod), "status")
	for line, want := range map[string]string{
		"Uid": "65532 65532 65532 65532", "CapEff": "0000000000000000", "CapPrm": "0000000000000000",
		"CapBnd": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2",
	} {
		found := regexp.MustCompile(`(?m)^` + line + `:\s*(.*)$`).FindStringSubmatch(status)
		if found == nil || strings.Join(strings.Fields(found[1]), " ") != want {
			script.Fail("%s of the process of %s is %q, not %s", line, pod.Name, found, want)
		}
	}
	mounts := s.process(container(pod), "mountinfo")
	if !regexp.MustCompile(`(?m)^\S+ \S+ \S+ / / ro,`).MatchString(mounts) {
		script.Fail("the root file system of %s can be written: %s", pod.Name, mounts)
	}
	if !strings.Contains(mounts, " /run/secrets/kubernetes.io/serviceaccount ro") &&
		!strings.Contains(mounts, " /var/run/secrets/kubernetes.io/serviceaccount ro") {
		script.Fail("%s has no token: %s", pod.Name, mounts)
	}
}

// inspectPorts calls every port that the Pod names, and the probes.
func (s *suite) inspectPorts(pod *corev1.Pod) {
	ports := map[string]int32{}
	for _, p := range pod.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, path := range map[string]string{"probes": "/readyz", "metrics": "/metrics"} {
		script.Must(discard(get(s.ctx, pod.Status.PodIP, ports[name], path)))
	}
	script.Must(discard(get(s.ctx, pod.Status.PodIP, ports["probes"], "/healthz")))
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(s.ctx, "tcp", fmt.Sprintf("%s:%d", pod.Status.PodIP, ports["webhook"]))
	script.Mustf(err, "the webhook's port")
	script.Must(conn.Close())
	for _, c := range pod.Status.ContainerStatuses {
		if c.RestartCount > 0 {
			script.Fail("%s was restarted %d times", pod.Name, c.RestartCount)
		}
	}
}

func discard(_ string, err error) error { return err }

// get is the answer of a Pod to a GET.
func get(ctx context.Context, address string, port int32, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	url := fmt.Sprintf("http://%s:%d%s", address, port, path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", url, response.Status, text)
	}
	return string(text), err
}
