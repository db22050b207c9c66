// SPDX-License-Identifier: Apache-2.0

// Package process runs programs in the background, each with its output in a file.
package process

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/eventually"
)

// startWithin is how long a process may take until it answers, and tail how many bytes of its output an error shows.
const (
	startWithin = 2 * time.Minute
	tail        = 4000
)

// Process is a running program.
type Process struct {
	// Name is the name for errors, and Log the file with its output.
	Name, Log string
	Command   *exec.Cmd

	exited chan struct{}
}

// Start starts a command and does not wait for it. Its output is added to the file log. start is what starts the
// command, such as (*exec.Cmd).Start.
func Start(name string, command *exec.Cmd, log string, start func(*exec.Cmd) error) (*Process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, Log: log, Command: command, exited: make(chan struct{})}
	command.Stdout, command.Stderr = output, output
	if err := start(command); err != nil {
		_ = output.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = command.Wait()
		_ = output.Close()
		close(p.exited)
	}()
	return p, nil
}

// StopGroup ends the process group that the process leads with SIGTERM, and after a while with SIGKILL.
func (p *Process) StopGroup() {
	group := -p.Command.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.exited
}

// Wait waits until a check succeeds, for two minutes at most; it gives up when the process ends.
func (p *Process) Wait(ctx context.Context, check func() error) error {
	err := eventually.SucceedsWithin(ctx, startWithin, func() error {
		select {
		case <-p.exited:
			return gomega.StopTrying("it has ended")
		default:
			return check()
		}
	})
	if err != nil {
		return fmt.Errorf("%s does not answer: %w: %s", p.Name, err, p.end())
	}
	return nil
}

// end is the end of the output.
func (p *Process) end() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-tail):])
}

// Answers returns nil when a URL answers 200.
func Answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
