// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/process"
)

// Outage is a time in which the API server does not answer. It needs Linux.
type Outage struct {
	cluster *Cluster
	pid     int
	// args start the API server again; empty while it is only stopped in its work.
	args []string
}

// Kill kills the API server: it refuses connections until the Outage ends.
func (c *Cluster) Kill() (*Outage, error) {
	o, err := c.outage()
	if err != nil {
		return nil, err
	}
	return o, syscall.Kill(o.pid, syscall.SIGKILL)
}

// Hang stops the API server in its work: connections to it are accepted, and nothing is answered until the Outage ends.
func (c *Cluster) Hang() (*Outage, error) {
	o, err := c.outage()
	if err != nil {
		return nil, err
	}
	o.args = nil
	// A process that is stopped does not end when it is asked to.
	c.Cleanup(func() { _ = syscall.Kill(o.pid, syscall.SIGCONT) })
	return o, syscall.Kill(o.pid, syscall.SIGSTOP)
}

// End lets the API server answer again, with the same address, certificates and data, and waits until it does.
func (o *Outage) End(ctx context.Context) error {
	if err := o.resume(); err != nil {
		return err
	}
	transport, err := rest.TransportFor(o.cluster.Config)
	if err != nil {
		return err
	}
	address, err := o.cluster.URL()
	if err != nil {
		return err
	}
	ready, err := http.NewRequestWithContext(ctx, http.MethodGet, address.JoinPath("readyz").String(), nil)
	if err != nil {
		return err
	}
	return eventually.Succeeds(ctx, func() error {
		response, err := transport.RoundTrip(ready)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			err = errors.New(response.Status)
		}
		return errors.Join(err, response.Body.Close())
	})
}

func (o *Outage) resume() error {
	if len(o.args) == 0 {
		return syscall.Kill(o.pid, syscall.SIGCONT)
	}
	command := exec.Command(o.args[0], o.args[1:]...)
	if err := command.Start(); err != nil {
		return err
	}
	o.cluster.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return nil
}

// outage finds the process of the API server by its port. envtest does not tell.
func (c *Cluster) outage() (*Outage, error) {
	address, err := c.URL()
	if err != nil {
		return nil, err
	}
	server, err := process.Find("kube-apiserver", "--secure-port="+address.Port())
	if err != nil {
		return nil, err
	}
	args, err := server.CmdLine()
	return &Outage{cluster: c, pid: server.PID, args: args}, err
}
