// SPDX-License-Identifier: Apache-2.0

// Package installed installs stepgate from config/ or from the chart, and runs it as the Deployments would: one process or
// several, under stepgate's own service accounts and RBAC. Several are behind a Balancer, as behind a Service.
package installed

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/eventually"
)

// Replica is a running `stepgate-webhook serve`, or `stepgate-reporter serve`.
type Replica struct {
	// Name is the name of its Registration.
	Name string
	// Webhook, Metrics and Probe are its addresses, HOST:PORT. A reporter has no webhook.
	Webhook, Metrics, Probe string

	program     string
	memoryLimit string
	hostname    string

	command *exec.Cmd
	output  *gbytes.Buffer
	exited  chan struct{}
}

// Options are how an instance is installed and started.
type Options struct {
	Registration
	// APIServer replaces the API server's address in its kubeconfig, for a proxy in between.
	APIServer string
	// CertArgs are the flags of the serving certificate; nil means a CA of its own.
	CertArgs []string
	// Args are added to the flags that it needs to run here.
	Args []string
	// Starts has it start what is due.
	Starts bool
	// KeepsMaxUpdate has it keep the maxUpdate of steps.
	KeepsMaxUpdate bool
	// Waves has the API server ask about the children of parents.
	Waves bool
	// Notifies installs what the reporter needs to tell people about rollouts, and UI what it needs to answer Argo CD's UI:
	// StartReporter starts it.
	Notifies, UI bool
	// Acts installs what it needs to act for users of Argo CD, with UI.
	Acts bool
	// Keeps has it keep the ledger, as the chart does.
	Keeps bool
	// Hostname is the host name that it sees, as a Pod keeps its own when its container starts again; empty means the one
	// of this machine.
	Hostname string
	// Barrier lets it use the write barrier that CreateBarrier creates.
	Barrier bool
	// MemoryLimit is GOMEMLIMIT; empty means the value in a container with the chart's limit.
	MemoryLimit string
}

// StartOne installs an instance of stepgate from config/, and starts one replica of it. It returns when the replica
// answers its probes; WaitReady waits until it is ready. The replica ends with the environment at the latest.
func StartOne(ctx context.Context, e *environment.Environment, o Options) (*Replica, error) {
	r, err := newReplica(e.Webhook, o.Name)
	if err != nil {
		return nil, err
	}
	o.URL = "https://" + r.Webhook
	if err := install(ctx, e, o, nil); err != nil {
		return nil, err
	}
	return r, r.run(ctx, e, o)
}

func newReplica(program, name string) (*Replica, error) {
	r := &Replica{Name: name, program: program, output: gbytes.NewBuffer(), exited: make(chan struct{})}
	free, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	r.Webhook, r.Metrics, r.Probe = free[0], free[1], free[2]
	return r, nil
}

// memoryLimit is what stepgate sets in a container with the chart's limit of 256 MiB.
const memoryLimit = "230MiB"

// run starts the process of an instance that is installed.
func (r *Replica) run(ctx context.Context, e *environment.Environment, o Options) error {
	kubeconfig, err := e.Kubeconfig(ctx, o.Name, o.Name, o.APIServer)
	if err != nil {
		return err
	}
	if o.CertArgs == nil {
		o.CertArgs = []string{"--cert-host=127.0.0.1"}
	}
	args := append([]string{
		"serve", "--kubeconfig=" + kubeconfig, "--installation=" + o.Name + "/" + o.Name,
		"--webhook-bind-address=" + r.Webhook,
		"--metrics-bind-address=" + r.Metrics, "--health-probe-bind-address=" + r.Probe,
	}, o.CertArgs...)
	if o.Starts {
		args = append(args, "--start")
	}
	if o.KeepsMaxUpdate {
		args = append(args, "--max-update")
	}
	if o.Keeps {
		args = append(args, "--ledger")
	}
	if o.Barrier {
		args = append(args, "--write-barrier")
	}
	r.memoryLimit, r.hostname = o.MemoryLimit, o.Hostname
	return r.start(ctx, e, append(args, o.Args...))
}

func (r *Replica) start(ctx context.Context, e *environment.Environment, args []string) error {
	r.command = exec.CommandContext(context.WithoutCancel(ctx), r.program, args...)
	r.command.Stdout, r.command.Stderr = r.output, r.output
	r.command.Env = append(os.Environ(), "GOMEMLIMIT="+cmp.Or(r.memoryLimit, memoryLimit))
	if r.hostname != "" {
		r.command.Env = append(r.command.Env, "HOSTNAME="+r.hostname)
	}
	if err := r.command.Start(); err != nil {
		return err
	}
	go func() {
		_ = r.command.Wait()
		close(r.exited)
	}()
	e.Cleanup(r.Kill)
	return r.wait(ctx, func() error {
		_, err := Get(ctx, "http://"+r.Probe+"/healthz")
		return err
	})
}

// WaitReady waits until it is ready.
func (r *Replica) WaitReady(ctx context.Context) error {
	return r.wait(ctx, func() error { return r.Ready(ctx) })
}

// wait waits until a check succeeds; it gives up when the process ends.
func (r *Replica) wait(ctx context.Context, check func() error) error {
	err := eventually.Succeeds(ctx, func() error {
		select {
		case <-r.exited:
			return gomega.StopTrying("it has ended")
		default:
			return check()
		}
	})
	if err != nil {
		return fmt.Errorf("stepgate is not ready: %w: %s", err, r.Log())
	}
	return nil
}

// Ready returns what /readyz says, as an error unless it is ready.
func (r *Replica) Ready(ctx context.Context) error {
	_, err := Get(ctx, "http://"+r.Probe+"/readyz")
	return err
}

// StartAgain starts a process with the same flags, after the last one has ended.
func (r *Replica) StartAgain(ctx context.Context, e *environment.Environment) error {
	<-r.exited
	r.exited = make(chan struct{})
	return r.start(ctx, e, r.command.Args[1:])
}

// Terminate sends SIGTERM and does not wait.
func (r *Replica) Terminate() error { return r.command.Process.Signal(syscall.SIGTERM) }

// Wait waits for its end and returns the exit code.
func (r *Replica) Wait() int {
	<-r.exited
	return r.command.ProcessState.ExitCode()
}

// Kill ends it at once. It may have ended already.
func (r *Replica) Kill() {
	_ = r.command.Process.Kill()
	<-r.exited
}

// Log is everything that it has logged.
func (r *Replica) Log() string { return string(r.output.Contents()) }

// FreeAddress returns an address that nobody listens on.
func FreeAddress() (string, error) {
	free, err := freeAddresses(1)
	if err != nil {
		return "", err
	}
	return free[0], nil
}

// freeAddresses returns addresses that nobody listens on. They are different: each is taken before the next is asked
// for.
func freeAddresses(n int) (free []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }()
		free = append(free, listener.Addr().String())
	}
	return free, nil
}
