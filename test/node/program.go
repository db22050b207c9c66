package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/eventually"
)

// program is a running program, whose output goes to a file.
type program struct {
	name, log string
	exited    chan struct{}
}

// start starts a program of bin/. It ends with the namespaces.
func (m *machine) start(name, as string, args ...string) (*program, error) {
	p := &program{name: as, log: filepath.Join(m.dir, "logs", as+".log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	command := exec.Command(filepath.Join(m.bin, name), args...)
	command.Dir, command.Stdout, command.Stderr = m.dir, log, log
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", as, err)
	}
	go func() {
		_ = command.Wait()
		_ = log.Close()
		close(p.exited)
	}()
	return p, nil
}

// wait waits until a check succeeds; it gives up when the program ends.
func (p *program) wait(ctx context.Context, check func() error) error {
	err := eventually.SucceedsWithin(ctx, startWithin, func() error {
		select {
		case <-p.exited:
			return gomega.StopTrying("it has ended")
		default:
			return check()
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, err, tail(p.log))
	}
	return nil
}

// tail is the end of a file, for an error.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}

// answers returns nil when a URL answers 200.
func answers(ctx context.Context, url string) error {
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

// tool runs a program of bin/ to its end, as the cluster's administrator, and returns its output.
func (m *machine) tool(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(m.bin, name), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+m.kubeconfig)
	text, err := command.CombinedOutput()
	if err != nil {
		return string(text), fmt.Errorf("%s %v: %w: %s", name, args, err, text)
	}
	return string(text), nil
}
