// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/script"
)

func (s *suite) plane() {
	script.Must(s.startPlane(s.ctx))
	s.helm = script.Get(installed.NewHelm(s.Environment))
	s.writer = script.Get(load.NewWriter(s.Cluster, &load.Tally{}))
}

func (s *suite) nodes() {
	script.Must(s.serveRegistry())
	script.Must(s.pushPause(s.ctx))
	tag, digest, err := s.releaseImage(s.ctx)
	script.Must(err)
	s.note("stepgate %s as the release builds it: %s", tag, digest)
	script.Must(s.startWorkers(s.ctx))
	nodes := &corev1.NodeList{}
	script.Must(s.Admin.List(s.ctx, nodes))
	for _, n := range nodes.Items {
		info := n.Status.NodeInfo
		s.note("%s is Ready: kubelet %s, %s, Linux %s, cgroup v%s", n.Name, info.KubeletVersion,
			info.ContainerRuntimeVersion, info.KernelVersion,
			map[bool]string{true: "2", false: "1"}[unified()])
	}
}

// argoCD starts Argo CD with an interval at which it looks at git by itself only after the run.
func (s *suite) argoCD() {
	s.argocd.Settings = argocd.Settings{Resync: 6 * time.Hour}
	s.argo = script.Get(argocd.Start(s.ctx, s.Environment, s.argocd))
	s.watch = script.Get(watchApplications(s.ctx, s.Config))
	s.rollout = script.Get(s.newRollout())
	s.rollout.install()
}

// keepPodLogs copies the logs of the Pods to those of the programs.
func (s *suite) keepPodLogs() {
	logs, err := filepath.Glob(filepath.Join(s.dir, "node-*", "pods", "stepgate_*", "*", "*.log"))
	if err != nil {
		return
	}
	for _, path := range logs {
		if text, err := os.ReadFile(path); err == nil {
			pod := strings.TrimPrefix(filepath.Base(filepath.Dir(filepath.Dir(path))), "stepgate_")
			_ = os.WriteFile(filepath.Join(s.dir, "logs", pod+"-"+filepath.Base(path)), text, 0o644)
		}
	}
}
