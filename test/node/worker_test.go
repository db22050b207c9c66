// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
)

// worker is a node: a containerd and a kubelet, with a bridge and a range of addresses for its Pods. All share one
// network namespace; each has its own containers, cgroups and files.
type worker struct {
	name, address, pods string
	// health is the port of the kubelet's healthz.
	health int
}

func workers() []worker {
	return []worker{
		{"node-1", planeAddress, "10.244.1.0/24", 10248},
		{"node-2", "192.0.2.2", "10.244.2.0/24", 10247},
	}
}

// socket is where its containerd listens.
func (w worker) socket() string { return "/run/" + w.name + "/containerd.sock" }

// fill replaces the words in capitals of a configuration.
func (w worker) fill(m *machine, text string) string {
	return strings.NewReplacer("DIR", filepath.Join(m.dir, w.name), "ALL", m.dir, "NAME", w.name, "SOCKET", w.socket(),
		"ADDRESS", w.address,
		"PODS", w.pods, "HEALTH", fmt.Sprint(w.health), "GROUP", filepath.Base(m.dir), "PAUSE", pauseImage).Replace(text)
}

const containerdConfig = `version = 3
root = "DIR/containerd"
state = "/run/NAME/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
  address = "SOCKET"
[plugins."io.containerd.internal.v1.opt"]
  path = "DIR/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "PAUSE"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "ALL/registries"
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  # The machine may lack the right to protect a process from the OOM killer.
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/usr/lib/cni", "/opt/cni/bin"]
  conf_dir = "DIR/cni"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
    SystemdCgroup = false
`

const cniConfig = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "NAME", "isGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "/run/NAME/addresses", "ranges": [[{"subnet": "PODS"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
`

// A kubelet protects its API by the API server. Here nobody else is in its network.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ADDRESS
healthzPort: HEALTH
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://SOCKET
cgroupDriver: cgroupfs
cgroupRoot: /GROUP/NAME
failCgroupV1: false
failSwapOn: false
clusterDNS: [10.0.0.10]
clusterDomain: cluster.local
resolvConf: ""
podLogsDir: DIR/pods
volumePluginDir: DIR/plugins
evictionHard: {memory.available: 50Mi, nodefs.available: "1%", imagefs.available: "1%"}
imageGCHighThresholdPercent: 100
`

// startWorker starts a node and returns when it is Ready.
func (m *machine) startWorker(ctx context.Context, w worker) error {
	dir := filepath.Join(m.dir, w.name)
	problems := []error{os.MkdirAll(filepath.Join(dir, "cni"), 0o755), os.MkdirAll(filepath.Dir(w.socket()), 0o755)}
	for name, text := range map[string]string{"containerd.toml": containerdConfig, "cni/pods.conflist": cniConfig,
		"kubelet.yaml": kubeletConfig} {
		problems = append(problems, os.WriteFile(filepath.Join(dir, name), []byte(w.fill(m, text)), 0o644))
	}
	if err := errors.Join(append(problems, makeGroup(filepath.Base(m.dir), w.name))...); err != nil {
		return err
	}
	containerd, err := m.start("containerd", "containerd-"+w.name, "--config="+filepath.Join(dir, "containerd.toml"))
	if err != nil {
		return err
	}
	err = containerd.Wait(ctx, func() error {
		_, err := m.tool(ctx, "ctr", "--address="+w.socket(), "version")
		return err
	})
	if err != nil {
		return err
	}
	kubeconfig, err := m.UserKubeconfig("system:node:"+w.name, "system:nodes")
	if err != nil {
		return err
	}
	kubelet, err := m.start("kubelet", "kubelet-"+w.name, "--config="+filepath.Join(dir, "kubelet.yaml"),
		"--kubeconfig="+kubeconfig,
		"--root-dir="+filepath.Join(dir, "kubelet"), "--cert-dir="+filepath.Join(dir, "kubelet-pki"), "--hostname-override="+w.name,
		"--node-ip="+w.address, "--v=2")
	if err != nil {
		return err
	}
	return kubelet.Wait(ctx, func() error { return m.nodeReady(ctx, w.name) })
}

// nodeReady returns nil when a node is Ready and Pods may be scheduled to it.
func (m *machine) nodeReady(ctx context.Context, name string) error {
	node := &corev1.Node{}
	if err := m.Admin.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
			return nil
		}
	}
	return fmt.Errorf("node %s is not Ready: %v %v", name, node.Status.Conditions, node.Spec.Taints)
}

// startWorkers starts all nodes, and returns when they are Ready.
func (m *machine) startWorkers(ctx context.Context) error {
	for _, w := range workers() {
		if err := m.startWorker(ctx, w); err != nil {
			return err
		}
	}
	// Pods need the token that the controller manager lets their namespace have.
	return eventually.Succeeds(ctx, func() error {
		return m.Admin.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
	})
}
