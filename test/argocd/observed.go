// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"path/filepath"
	"strings"
)

// RepoServer is the name of the component that reads git and generates manifests.
const RepoServer = "argocd-repo-server"

// Log is the file that a component writes its log to.
func (a *ArgoCD) Log(name string) string { return filepath.Join(a.dir, name+".log") }

// RepoServerMetrics is the URL of the repo-server's metrics.
func (a *ArgoCD) RepoServerMetrics() (string, error) {
	for _, p := range a.processes {
		if p.Name != RepoServer {
			continue
		}
		for _, arg := range p.Command.Args {
			if port, ok := strings.CutPrefix(arg, "--metrics-port="); ok {
				return "http://127.0.0.1:" + port + "/metrics", nil
			}
		}
	}
	return "", fmt.Errorf("no %s with metrics is running", RepoServer)
}

// PIDs are the processes of the components, by name.
func (a *ArgoCD) PIDs() map[string]int {
	pids := map[string]int{}
	for _, p := range a.processes {
		pids[p.Name] = p.Command.Process.Pid
	}
	return pids
}
