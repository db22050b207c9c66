// Command demo plays a rollout of the guestbook ApplicationSet against a real kube-apiserver with stepgate registered,
// write by write, and shows the API server's answer to each. It plays the parts of Argo CD's controllers itself: what
// is real is the API server, the registration, the gate and its answers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/release"
	"github.com/stepgate/stepgate/test/report"
)

func main() {
	chart := flag.Bool("chart", false, "install stepgate from the chart, with Helm, and not from config/")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	out := &printer{report.New(os.Stdout)}
	unexpected, err := run(ctx, out, *chart)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	case unexpected > 0:
		os.Exit(1)
	}
}

func run(ctx context.Context, out *printer, chart bool) (unexpected int, err error) {
	out.Heading("Starting the real parts")
	out.progress("etcd and kube-apiserver, with Argo CD's CRDs")
	out.progress("the service accounts of Argo CD, and jane with kubectl")
	e, err := environment.Start(ctx, environment.Options{})
	if err != nil {
		return 0, err
	}
	defer func() {
		if stopErr := e.Stop(); err == nil {
			err = stopErr
		}
	}()
	p := &play{ctx: ctx, out: out, cluster: e.Cluster}
	if err := p.prepare(); err != nil {
		return 0, err
	}
	var gate *release.Replica
	if chart {
		out.progress("stepgate serve, installed from the chart, under its own service account")
		gate, err = release.StartChart(ctx, e, release.Chart{
			Name: "stepgate", Namespace: "stepgate", Values: []string{"config.bypassUsers={alice}"},
		})
	} else {
		out.progress("stepgate serve, installed from config/, under its own service account")
		gate, err = release.StartOne(ctx, e, release.Options{
			Registration: release.Registration{Name: "stepgate"}, Args: []string{"--bypass-user=alice"},
		})
	}
	if err != nil {
		return 0, err
	}
	defer gate.Kill()
	if err := gate.WaitReady(ctx); err != nil {
		return 0, err
	}
	p.gate = gate
	if err := p.waitUntilCalled(); err != nil {
		return 0, err
	}
	if err := p.perform(); err != nil {
		return 0, err
	}
	return p.report()
}
