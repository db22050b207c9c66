package local

import (
	"context"
	"os/exec"
)

// StartReplica starts one more process of an instance that Install has installed. The URL of its registration is for
// the caller to have chosen: that of a Balancer, if there are several.
func (c *Cluster) StartReplica(ctx context.Context, o GateOptions) (*Gate, error) {
	g, err := newGate(o.Name)
	if err != nil {
		return nil, err
	}
	return g, c.run(ctx, g, o)
}

func newGate(name string) (*Gate, error) {
	g := &Gate{Name: name, exited: make(chan struct{})}
	return g, g.chooseAddresses()
}

func (c *Cluster) run(ctx context.Context, g *Gate, o GateOptions) error {
	kubeconfig, err := c.Kubeconfig(ctx, o.Name, o.Name, o.APIServer)
	if err != nil {
		return err
	}
	if o.CertArgs == nil {
		o.CertArgs = []string{"--cert-mode=self", "--cert-secret=" + o.Name + "/" + o.Name + "-ca", "--cert-ip-address=127.0.0.1"}
	}
	args := append([]string{
		"serve", "--kubeconfig=" + kubeconfig, "--webhook-configuration=" + o.Name, "--webhook-bind-address=" + g.Webhook,
		"--metrics-bind-address=" + g.Metrics, "--health-probe-bind-address=" + g.Probe,
	}, o.CertArgs...)
	g.command = exec.CommandContext(context.WithoutCancel(ctx), o.Binary, append(args, o.Args...)...)
	return g.start(ctx)
}
