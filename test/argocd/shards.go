package argocd

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

const applicationController = "argocd-application-controller"

// Shard is one of several processes of the application controller. Each has the clusters whose Secret names its number; the cluster in
// which Argo CD runs belongs to shard 0.
type Shard struct {
	// Ahead is by how much its clock is ahead of those of all others, in whole seconds; negative if it is behind. Any but zero needs the
	// program of SkewedBinary.
	Ahead time.Duration
}

// SkewedBinary is the program of a version whose clock can be moved: `make skewed-tools` builds it. root is the root of the repository.
func SkewedBinary(root, version string) string {
	return filepath.Join(root, "bin", "skewed-argocd-"+version)
}

// shard is how one process of the application controller is started.
type shard struct {
	number, of int
	ahead      time.Duration
	// program is what runs it if its clock is moved.
	program string
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
			own.shard = &shard{number: i, of: len(a.options.Shards), ahead: s.Ahead, program: SkewedBinary(a.env.Root, a.Version)}
			own.url = "http://" + addresses[i] + "/healthz"
			own.args = append(append([]string{}, c.args...), "--metrics-port="+port(addresses[i]))
			found = append(found, own)
		}
	}
	return found
}

// apply gives a process its shard and its clock.
func (s *shard) apply(command *exec.Cmd) {
	command.Env = append(command.Env, fmt.Sprintf("ARGOCD_CONTROLLER_REPLICAS=%d", s.of), fmt.Sprintf("ARGOCD_CONTROLLER_SHARD=%d", s.number))
	if s.ahead != 0 {
		command.Path, command.Args[0] = s.program, s.program
		command.Env = append(command.Env, "CLOCK_OFFSET="+strconv.Itoa(int(s.ahead/time.Second)))
	}
}
