// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// askAboutWaves asks the command line why a rollout stands still, as the person who is called at night does.
func (s *suite) askAboutWaves(ctx context.Context, degraded string) (problem error) {
	kubeconfig, err := s.AdminKubeconfig()
	if err != nil {
		return err
	}
	for _, q := range []struct {
		args []string
		want string
	}{
		{[]string{"get"}, "waves/platform"},
		{[]string{"get", "platform"}, "wave 0"},
		{[]string{"get", "platform", "--all"}, "fleet-a"},
		{[]string{"get", "platform", "--all"}, waving.team() + "/data-a"},
		{[]string{"explain", "fleet-a"}, "wave 5"},
		{[]string{"explain", waving.team() + "/data-a"}, "wave 10"},
		{[]string{"explain", "shop-b"}, degraded},
		{[]string{"explain", degraded}, "wave 0"},
		{[]string{"pause", "platform", "--step", "20", "--reason", "INC-1"}, "wave 20"},
		{[]string{"get", "platform"}, "INC-1"},
		{[]string{"resume", "platform"}, "nothing is paused"},
		{[]string{"lint"}, "waves"},
	} {
		command := exec.CommandContext(ctx, s.Binary, append(q.args, "-n", string(waving), "--kubeconfig", kubeconfig)...)
		command.Env = append(os.Environ(), "COLUMNS=100")
		text, _ := command.CombinedOutput() // what it finds makes the exit code 1
		fmt.Printf("$ stepgate %s\n%s\n", strings.Join(q.args, " "), text)
		if !strings.Contains(string(text), q.want) {
			asked := strings.Join(q.args, " ")
			problem = errors.Join(problem, fmt.Errorf("stepgate %s does not say %q: %s", asked, q.want, text))
		}
	}
	return problem
}
