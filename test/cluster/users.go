// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// UserKubeconfig writes a kubeconfig with a client certificate of a user of some groups, and returns its path.
func (c *Cluster) UserKubeconfig(name string, groups ...string) (string, error) {
	user, err := c.env.ControlPlane.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return "", err
	}
	text, err := user.KubeConfig()
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, strings.ReplaceAll(name, ":", "-")+".kubeconfig")
	return path, os.WriteFile(path, text, 0o600)
}
