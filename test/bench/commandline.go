// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/stepgate/stepgate/test/script"
)

// asked is how often each command is run.
const asked = 7

// commandLine is part 4: how long the commands take that answer questions, as processes, with one ApplicationSet of
// many Applications.
func commandLine(ctx context.Context, s *suite) []goal {
	r := s.rollout(ctx, s.options.asked)
	kubeconfig := script.Get(s.AdminKubeconfig())
	s.out.Line("\nthe command line with %d Applications", s.options.asked)
	var goals []goal
	for _, c := range []struct {
		args []string
		most float64 // seconds; 0 is no goal
	}{
		{[]string{"version"}, 0},
		{[]string{"get", "-A"}, 3},
		{[]string{"get", "guestbook"}, 3},
		{[]string{"get", "guestbook", "-o", "json"}, 0},
		{[]string{"explain", r.target}, 0},
		{[]string{"audit", "-A"}, 3},
		{[]string{"audit", "-A", "-o", "html"}, 0},
	} {
		var took []time.Duration
		for range min(asked, s.options.samples) {
			command := exec.CommandContext(ctx, s.Binary, c.args...)
			if c.args[0] != "version" {
				command.Args = append(command.Args, "--kubeconfig", kubeconfig, "-n", r.namespace)
			}
			began := time.Now()
			script.Must(answered(command))
			took = append(took, time.Since(began))
		}
		p50 := quantile(took, 0.5)
		s.out.Line("bench: command=%q applications=%d p50=%s max=%s", c.args, s.options.asked, ms(p50), ms(quantile(took, 1)))
		if c.most > 0 {
			goals = append(goals, goal{
				what: fmt.Sprintf("stepgate %s with %d Applications, p50", c.args, s.options.asked), measured: p50.Seconds(),
				most: c.most, unit: " s",
			})
		}
	}
	return goals
}

// answered runs a command that answers a question: exit code 1 is an answer.
func answered(command *exec.Cmd) error {
	var stderr bytes.Buffer
	command.Stderr = &stderr
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%v: %w: %s", command.Args[1:], err, stderr.String())
	}
	return nil
}
