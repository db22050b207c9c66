// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/page"
)

// dashboardPort is the port of `stepgate dashboard`.
const dashboardPort = 8399

// showing is `stepgate dashboard`.
type showing struct {
	*cli
	port      int
	noBrowser bool
}

func newDashboard(streams genericiooptions.IOStreams) *cobra.Command {
	d := &showing{cli: newCLI(streams)}
	var cmd *cobra.Command
	cmd = d.command("dashboard", "Show rollouts in the browser, and act on them", atMost(0),
		func(ctx context.Context, _ []string) error { return d.run(ctx, cmd) })
	cmd.Long = `Show all rollouts, and the steps and Applications of each, in the browser. The page changes as the
cluster does, and can pause, resume, approve and refresh.

It serves on 127.0.0.1, to whoever has the address that it prints, which holds a token of its own.
That browser needs it once: it keeps a key for seven days, also when this ends. It reads and writes with your kubeconfig, so it shows and does what you may. Without
--namespace it shows all namespaces, or that of your kubeconfig where you may not read all. Ctrl-C
ends it.`
	cmd.Example = `  stepgate dashboard
  stepgate dashboard -n argocd --port 9000 --no-browser`
	f := cmd.Flags()
	f.IntVar(&d.port, "port", dashboardPort, "the port on 127.0.0.1; 0 takes a free one")
	f.BoolVar(&d.noBrowser, "no-browser", false, "only print the address")
	d.bindCluster(cmd)
	return cmd
}

func (d *showing) run(ctx context.Context, cmd *cobra.Command) error {
	r, err := d.rollouts(ctx)
	if err != nil {
		return err
	}
	namespace, err := d.shown(ctx, r)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)))
	if err != nil {
		return fmt.Errorf("--port: %w; --port 0 takes a free one", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := newBoard(ctx, cmd, r, namespace)
	host, secrets := listener.Addr().String(), dashboard.Secrets{Token: rand.Text(), Key: keptKey(time.Now())}
	address := "http://" + host + "/#token=" + secrets.Token
	var leads lead
	if !d.noBrowser {
		leads = leadTo(address)
	}
	defer leads.remove()
	handler := dashboard.New(b, page.Files, host, secrets, leads.remove)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	go b.lookAtConnection(ctx)
	go b.lookAtSettings(ctx)
	err = b.follow(ctx, func() error {
		select {
		case err := <-served:
			return err
		default:
			return nil
		}
	}, func() { d.open(address, leads) })
	_ = server.Close() // the streams never end
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // the user has seen enough
	}
	return err
}

// shown is the namespace to show: the one that was asked for, or all, or else the kubeconfig's.
func (d *showing) shown(ctx context.Context, r *rollouts) (string, error) {
	namespace, err := d.namespace()
	if err != nil || *d.kube.Namespace != "" {
		return namespace, err
	}
	if r.mayWatch(ctx, "") == nil {
		return "", nil
	}
	return namespace, nil
}

// open shows the address, and has a browser open it. It does not wait: some browsers end when the user closes them.
func (d *showing) open(address string, leads lead) {
	_ = d.print("The dashboard is at " + address + ". Ctrl-C ends it.")
	if d.noBrowser {
		return
	}
	go func() {
		if err := leads.open(); err != nil {
			_ = d.print("No browser was opened (" + err.Error() + "): open the address yourself.")
		}
	}()
}
