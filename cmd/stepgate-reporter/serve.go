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
	o := &flags.Reporter{}
	return serve.NewCommand(o, "Send notifications, and answer Argo CD's UI",
		"  stepgate serve --notifications --installation stepgate/stepgate",
		func(ctx context.Context, config settings.Config) error { return report(ctx, o, config) })
}

// report runs the program until ctx is done or a part of it fails.
func report(ctx context.Context, o *flags.Reporter, config settings.Config) error {
	p, err := newProgram(ctx, o, config)
	if err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("reporting", "version", command.ThisBuild().Version, "mode", config.Mode.String(),
		"notifications", o.Notifies, "ui", o.UI.Address, "applicationNamespaces", o.Gate.Namespaces)
	return p.run(ctx)
}
