// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/settings"
)

func newServe() *cobra.Command {
	o := &flags.Options{}
	return serve.NewCommand(o, "Serve the admission webhook",
		"  stepgate serve --mode audit --installation stepgate/stepgate",
		func(ctx context.Context, config settings.Config) error { return serveWebhook(ctx, o, config) })
}

// serveWebhook runs the program until ctx is done or a part of it fails.
func serveWebhook(ctx context.Context, o *flags.Options, config settings.Config) error {
	p, err := newProgram(ctx, o, config)
	if err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("serving", "version", command.ThisBuild().Version, "address",
		p.server.Addr().String(), "mode", config.Mode.String(), "require", config.Require.String(),
		"gateRollbacks", config.GateRollbacks, "pin", config.Pin.String(), "hold", config.Hold, "release", config.Release,
		"start", o.Starts, "applicationNamespaces", o.Gate.Namespaces, "syncWindows", o.Gate.SyncWindows,
		"installation", o.Installation.Name(), "certDir", o.Certificates.Dir)
	return p.run(ctx)
}
