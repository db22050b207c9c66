// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// The names of docs/install.md.
const (
	releaseName      = "stepgate"
	releaseNamespace = "stepgate"
	replicas         = 2
)

// replicaPods are the Pods of the Deployment, by name.
func (s *suite) replicaPods() ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := s.Admin.List(s.ctx, list, client.InNamespace(releaseNamespace), client.HasLabels{"pod-template-hash"})
	return list.Items, err
}

// isReady says that a Pod answers its readiness probe and does not end.
func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

// settled waits until the replicas are Ready and no other Pod of the Deployment is there, and returns them.
func (s *suite) settled() []corev1.Pod {
	var pods []corev1.Pod
	script.Mustf(eventually.SucceedsWithin(s.ctx, 2*time.Minute, func() (err error) {
		if pods, err = s.replicaPods(); err != nil {
			return err
		}
		var problems []error
		for _, pod := range pods {
			if !isReady(&pod) {
				problems = append(problems, fmt.Errorf("%s is not Ready: %v", pod.Name, pod.Status.ContainerStatuses))
			}
		}
		if len(pods) != replicas {
			problems = append(problems, fmt.Errorf("%d Pods", len(pods)))
		}
		return errors.Join(problems...)
	}), "the replicas")
	return pods
}

// spread is settled, where each replica has to be on a node of its own.
func (s *suite) spread() []corev1.Pod {
	pods := s.settled()
	if pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		script.Fail("both replicas are on %s", pods[0].Spec.NodeName)
	}
	return pods
}

// pod reads a Pod again.
func (s *suite) pod(name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, s.Admin.Get(s.ctx, client.ObjectKey{Namespace: releaseNamespace, Name: name}, pod)
}

// container is the ID of the only container of a Pod, as its cgroup is named.
func container(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		return strings.TrimPrefix(c.ContainerID, "containerd://")
	}
	return ""
}

// memory is a replica's limit, and the most that its container has used, in MiB.
func (s *suite) memory(pod *corev1.Pod) (limit, most float64) {
	limit, most, err := containerMemory(filepath.Base(s.dir), container(pod))
	script.Must(err)
	return limit, most
}

// process is the first process of a container, as the kernel shows it in a file of its folder in /proc.
func (s *suite) process(id, file string) string {
	shown := script.Get(filepath.Glob("/proc/[0-9]*/cgroup"))
	for _, path := range shown {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), id) {
			continue
		}
		text, err = os.ReadFile(filepath.Join(filepath.Dir(path), file))
		if err == nil {
			return string(text)
		}
	}
	script.Fail("container %s has no process", id)
	return ""
}

// documented runs a command that a page has, with the programs of bin/. It fails if the page does not have it.
func (s *suite) documented(page, command string, replace ...string) string {
	if !has(string(script.Get(os.ReadFile(filepath.Join(s.Root, page)))), command) {
		script.Fail("%s does not have the command %q", page, command)
	}
	return s.command(strings.NewReplacer(replace...).Replace(command))
}

// has says that a page has a command in a block of its own.
func has(page, command string) bool {
	return regexp.MustCompile(`(?m)^ *\$ ` + regexp.QuoteMeta(command) + `$`).MatchString(page)
}

// command runs a command of Helm or kubectl.
func (s *suite) command(command string) string {
	words := strings.Fields(command)
	if words[0] == "helm" {
		return script.Get(s.helm.Run(s.ctx, words[1:]...))
	}
	return script.Get(s.tool(s.ctx, words[0], words[1:]...))
}
