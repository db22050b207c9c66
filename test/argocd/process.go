package argocd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/eventually"
)

// startWithin is how long a process may take until it answers.
const startWithin = 2 * time.Minute

// process is a running component. Its output goes to a file.
type process struct {
	name    string
	log     string
	command *exec.Cmd
	exited  chan struct{}
}

// startComponent starts a component and waits until it answers. All are one program, which looks at its name.
func (a *ArgoCD) startComponent(ctx context.Context, c component) error {
	p := &process{name: c.name, log: filepath.Join(a.dir, c.name+".log"), exited: make(chan struct{})}
	p.command = exec.Command(a.options.Binary, c.args...)
	p.command.Dir = a.dir
	p.command.Env = append(a.variables(), "ARGOCD_BINARY_NAME="+c.name)
	if c.shard != nil {
		p.log = filepath.Join(a.dir, fmt.Sprintf("%s-%d.log", c.name, c.shard.number))
		p.command.Env = append(p.command.Env, c.shard.variables()...)
	}
	if c.account {
		kubeconfig, err := a.env.Kubeconfig(ctx, cluster.ArgoNamespace, c.name, "")
		if err != nil {
			return err
		}
		p.command.Env = append(p.command.Env, "KUBECONFIG="+kubeconfig)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p.command.Stdout, p.command.Stderr = log, log
	// The repo-server starts git processes; the whole group has to end.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.start(p.command); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	a.processes = append(a.processes, p)
	go func() {
		_ = p.command.Wait()
		_ = log.Close()
		close(p.exited)
	}()
	return p.wait(ctx, func() error {
		if c.address != "" {
			return accepts(c.address)
		}
		return answers(ctx, c.url)
	})
}

// stop ends the process with SIGTERM, and after a while with SIGKILL.
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

// wait waits until a check succeeds; it gives up when the process ends.
func (p *process) wait(ctx context.Context, check func() error) error {
	err := eventually.SucceedsWithin(ctx, startWithin, func() error {
		select {
		case <-p.exited:
			return gomega.StopTrying("it has ended")
		default:
			return check()
		}
	})
	if err != nil {
		return fmt.Errorf("%s does not answer: %w: %s", p.name, err, tail(p.log))
	}
	return nil
}

// accepts returns nil when an address accepts connections.
func accepts(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
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

// tail is the end of a file, for an error.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// freeAddresses are different loopback addresses that nobody listens on.
func freeAddresses(n int) (addresses []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
