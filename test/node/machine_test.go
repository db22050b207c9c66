// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/checkout"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/process"
)

// machine is the cluster: its control plane, its nodes and its registry.
type machine struct {
	*environment.Environment
	// dir is the temporary folder, and bin the folder of the programs.
	dir, bin   string
	kubeconfig string
	// argocd is what is known of the Argo CD that runs.
	argocd argocd.Options
}

func newMachine(dir string) (*machine, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	m := &machine{dir: dir, bin: filepath.Join(root, "bin")}
	temporary := filepath.Join(dir, "tmp")
	err = errors.Join(os.MkdirAll(filepath.Join(dir, "logs"), 0o755), os.MkdirAll(temporary, 0o755),
		// containerd looks for its shim here. Whatever the programs write goes into the folder. There is no network to
		// fetch modules from.
		os.Setenv("PATH", m.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin"), os.Setenv("TMPDIR", temporary),
		os.Setenv("GOPROXY", "off"),
		// The checkout may belong to the user who called sudo.
		os.Setenv("GIT_CONFIG_COUNT", "1"), os.Setenv("GIT_CONFIG_KEY_0", "safe.directory"),
		os.Setenv("GIT_CONFIG_VALUE_0", "*"))
	return m, err
}

// startPlane starts the control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and kube-proxy
// for all nodes.
func (m *machine) startPlane(ctx context.Context) (err error) {
	if m.argocd, err = argocd.Locate(filepath.Dir(m.bin), argocd.Versions()[0]); err != nil {
		return err
	}
	c, err := cluster.Start(cluster.Options{Manifests: m.argocd.Manifests, Configure: m.configurePlane})
	if err != nil {
		return err
	}
	m.Environment = &environment.Environment{Cluster: c}
	if m.Admin, err = c.Client(""); err != nil {
		return err
	}
	if m.kubeconfig, err = c.AdminKubeconfig(); err != nil {
		return err
	}
	if err := m.bindProxy(ctx); err != nil {
		return err
	}
	ca, _ := c.ServingCertificate()
	for _, p := range []struct {
		name, user, health string
		args               []string
	}{
		{"kube-controller-manager", "system:kube-controller-manager", "", []string{
			"--use-service-account-credentials", "--leader-elect=false", "--root-ca-file=" + ca,
			"--service-account-private-key-file=" + filepath.Join(filepath.Dir(ca), "sa-signer.key"),
		}},
		{"kube-scheduler", "system:kube-scheduler", "", []string{"--leader-elect=false"}},
		{"kube-proxy", proxyUser, "http://127.0.0.1:10256/livez", []string{
			"--proxy-mode=nftables", "--cluster-cidr=" + podRange, "--hostname-override=" + workers()[0].name,
			"--bind-address=" + planeAddress, "--healthz-bind-address=127.0.0.1:10256", "--conntrack-max-per-core=0",
		}},
	} {
		kubeconfig, err := c.UserKubeconfig(p.user)
		if err != nil {
			return err
		}
		program, err := m.start(p.name, p.name, append(p.args, "--kubeconfig="+kubeconfig)...)
		if err != nil {
			return err
		}
		if p.health == "" {
			continue
		}
		if err := program.Wait(ctx, func() error { return process.Answers(ctx, p.health) }); err != nil {
			return err
		}
	}
	return nil
}
