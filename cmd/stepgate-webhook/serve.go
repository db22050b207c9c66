package main

import (
	"context"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/flags"
)

func newServe() *cobra.Command {
	o := &flags.Options{}
	zapOptions := &zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the admission webhook",
		Example: "  stepgate serve --mode audit --cert-secret stepgate/stepgate-ca " +
			"--cert-dns-name stepgate.stepgate.svc",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			log := zap.New(zap.UseFlagOptions(zapOptions))
			ctrllog.SetLogger(log)
			klog.SetLogger(log)
			return serve(logr.NewContext(cmd.Context(), log), o)
		},
	}
	cmd.Flags().SortFlags = false
	o.Bind(cmd.Flags())
	flags.BindLog(cmd.Flags(), zapOptions)
	return cmd
}

// memoryRatio is the part of the container's memory limit that is GOMEMLIMIT: near it, Go collects garbage more often.
const memoryRatio = 0.9

// serve runs the program until ctx is done or a part of it fails.
func serve(ctx context.Context, o *flags.Options) error {
	config, err := o.Config()
	if err != nil {
		return err
	}
	log := logr.FromContextOrDiscard(ctx)
	if _, err := memlimit.Set(memlimit.WithRatio(memoryRatio)); err != nil {
		log.Info("the container's memory limit cannot be read; GOMEMLIMIT stays as it is", "problem", err.Error())
	}
	p, err := newProgram(ctx, o, config)
	if err != nil {
		return err
	}
	log.Info("serving", "version", command.ThisBuild().Version, "address", p.server.Addr().String(), "mode",
		config.Mode.String(), "require", config.Require.String(),
		"gateRollbacks", config.GateRollbacks, "pin", config.Pin.String(), "hold", config.Hold, "release", config.Release,
		"start", o.Start.Enabled,
		"applicationNamespaces", o.Gate.Namespaces, "syncWindows", o.Gate.SyncWindows,
		"certMode", o.Certificates.Mode, "webhookConfigurations", o.Certificates.Configurations.Validating,
		"mutatingWebhookConfigurations", o.Certificates.Configurations.Mutating)
	err = p.run(ctx)
	log.Info("stopped")
	return err
}
