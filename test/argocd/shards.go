// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"os/exec"
	"time"

	"github.com/stepgate/stepgate/test/skew"
)

const applicationController = "argocd-application-controller"

// Shard is one of several processes of the application controller. Each has the clusters whose Secret names its number;
// the cluster in which Argo CD runs belongs to shard 0.
type Shard struct {
	// Ahead is by how much its clock is ahead of those of all others, in whole seconds; negative if it is behind.
	Ahead time.Duration
}

// shard is how one process of the application controller is started.
type shard struct {
	number, of int
	ahead      time.Duration
}

// sharded are the components with one application controller for each shard.
func (a *ArgoCD) sharded(all []component, addresses []string) []component {
	if len(a.options.Shards) == 0 {
		return all
	}
	var found []component
	for _, c := range all {
		if c.name != applicationController {
			found = append(found, c)
			continue
		}
		for i, s := range a.options.Shards {
			own := c
			own.shard = &shard{number: i, of: len(a.options.Shards), ahead: s.Ahead}
			own.url = "http://" + addresses[i] + "/healthz"
			own.args = append(append([]string{}, c.args...), "--metrics-port="+port(addresses[i]))
			found = append(found, own)
		}
	}
	return found
}

// variables tell a process its shard.
func (s *shard) variables() []string {
	return []string{
		fmt.Sprintf("ARGOCD_CONTROLLER_REPLICAS=%d", s.of), fmt.Sprintf("ARGOCD_CONTROLLER_SHARD=%d", s.number),
	}
}

// start starts a process, with the clock of its shard.
func (c component) start(command *exec.Cmd) error {
	if c.shard == nil || c.shard.ahead == 0 {
		return command.Start()
	}
	return skew.Start(command, c.shard.ahead)
}
