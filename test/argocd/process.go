package argocd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// startWithin is how long a process may take until it answers.
const startWithin = 2 * time.Minute

// process is a component of Argo CD. Its output goes to a file.
type process struct {
	name    string
	log     string
	command *exec.Cmd
	exited  chan struct{}
}

// spawn starts a component: the one binary, with the name that it looks at.
func (a *ArgoCD) spawn(name string, env []string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(a.dir, name+".log"), exited: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p.command = exec.Command(a.binary, args...)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Dir = a.dir
	p.command.Env = append(append(a.environment(), "ARGOCD_BINARY_NAME="+name), env...)
	// The repo-server starts git processes: the group is what has to end.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	a.processes = append(a.processes, p)
	go func() {
		_ = p.command.Wait()
		_ = log.Close()
		close(p.exited)
	}()
	return p, nil
}

// stop ends the process: politely, and after a while not.
func (p *process) stop() {
	group := -p.command.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.exited
}

// answering waits until the address accepts connections.
func (p *process) answering(ctx context.Context, address string) error {
	return p.wait(ctx, func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// healthy waits until the URL answers 200.
func (p *process) healthy(ctx context.Context, url string) error {
	return p.wait(ctx, func() error {
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
	})
}

func (p *process) wait(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		problem := check()
		if problem == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended: %s", p.name, tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w: %s", p.name, problem, tail(p.log))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tail is the end of a file, for an error.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// freePort is a loopback port that nobody listens on.
func freePort() (port string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), listener.Close()
}

func freePorts(n int) ([]string, error) {
	ports := make([]string, n)
	for i := range ports {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		ports[i] = port
	}
	return ports, nil
}
