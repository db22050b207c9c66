// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/process"
)

// startComponent starts a component and waits until it answers. All are one program, which looks at its name.
func (a *ArgoCD) startComponent(ctx context.Context, c component) error {
	command, log := exec.Command(a.options.Binary, c.args...), c.name
	command.Dir = a.dir
	command.Env = append(a.variables(), "ARGOCD_BINARY_NAME="+c.name)
	if c.shard != nil {
		log = fmt.Sprintf("%s-%d", c.name, c.shard.number)
		command.Env = append(command.Env, c.shard.variables()...)
	}
	if c.account {
		kubeconfig, err := a.env.Kubeconfig(ctx, cluster.ArgoNamespace, c.name, "")
		if err != nil {
			return err
		}
		command.Env = append(command.Env, "KUBECONFIG="+kubeconfig)
	}
	// The repo-server starts git processes; the whole group has to end.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p, err := process.Start(c.name, command, a.Log(log), c.start)
	if err != nil {
		return err
	}
	a.processes = append(a.processes, p)
	return p.Wait(ctx, func() error {
		if c.address != "" {
			return accepts(c.address)
		}
		return process.Answers(ctx, c.url)
	})
}

// accepts returns nil when an address accepts connections.
func accepts(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
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
