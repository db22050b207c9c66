// SPDX-License-Identifier: Apache-2.0

// Command demo plays a rollout of the guestbook ApplicationSet against a real kube-apiserver with stepgate registered,
// write by write, and shows the API server's answer to each. It writes in the place of Argo CD's controllers. The API
// server, the registration, the gate and its answers are real.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
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
	out.Heading("Starting the real programs")
	out.progress("etcd and kube-apiserver, with Argo CD's CRDs and service accounts, and jane with kubectl")
	e, err := environment.Start(ctx, environment.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Stop()) }()
	p := &play{Environment: e, ctx: ctx, out: out}
	err = script.Run(func() {
		p.prepare()
		p.gate = script.Get(p.startGate(chart))
		defer p.gate.Kill()
		script.Must(p.gate.WaitReady(ctx))
		p.waitUntilCalled()
		p.perform()
		p.report()
	})
	if err != nil && p.gate != nil {
		err = fmt.Errorf("%w\nThe log of stepgate:\n%s", err, p.gate.Log())
	}
	return p.unexpected, err
}

// startGate starts stepgate as it is installed from the chart or from config/.
func (p *play) startGate(chart bool) (*installed.Replica, error) {
	if chart {
		p.out.progress("stepgate-webhook serve, installed from the chart, under its own service account")
		return installed.StartChart(p.ctx, p.Environment, installed.Chart{
			Name: "stepgate", Namespace: "stepgate", Values: []string{"config.mode=enforce", "config.bypassUsers={alice}"},
		})
	}
	p.out.progress("stepgate-webhook serve, installed from config/, under its own service account")
	return installed.StartOne(p.ctx, p.Environment, installed.Options{
		Registration: installed.Registration{Name: "stepgate"}, Args: []string{"--bypass-user=alice"},
	})
}
