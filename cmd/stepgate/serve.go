package main

import (
	"context"
	"flag"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func newServe() *cobra.Command {
	o := &options{}
	zapOptions := &zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the admission webhook",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			log := zap.New(zap.UseFlagOptions(zapOptions))
			ctrllog.SetLogger(log)
			klog.SetLogger(log)
			return serve(logr.NewContext(cmd.Context(), log), o)
		},
	}
	cmd.Flags().SortFlags = false
	o.bind(cmd.Flags())
	bindLog(cmd.Flags(), zapOptions)
	return cmd
}

// bindLog adds zap's own flags.
func bindLog(f *pflag.FlagSet, o *zap.Options) {
	flags := flag.NewFlagSet("zap", flag.ContinueOnError)
	o.BindFlags(flags)
	flags.Lookup("zap-time-encoding").Usage = "Zap time encoding (one of 'epoch', 'millis', 'nano', 'iso8601', 'rfc3339' or 'rfc3339nano'). Defaults to 'rfc3339nano'."
	f.AddGoFlagSet(flags)
}

// memoryRatio is the part of the container's memory limit that is GOMEMLIMIT: near it, Go collects garbage more often.
const memoryRatio = 0.9

// serve runs the program until ctx is done or a part of it fails.
func serve(ctx context.Context, o *options) error {
	config, err := o.config()
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
	log.Info("serving", "version", thisBuild().version, "address", p.server.Addr().String(), "mode", config.Mode.String(), "require", config.Require.String(),
		"gateRollbacks", config.GateRollbacks, "pin", config.Pin.String(), "hold", config.Hold, "release", config.Release, "applicationNamespaces", o.gate.namespaces, "syncWindows", o.gate.syncWindows,
		"certMode", o.certificates.mode, "webhookConfigurations", o.certificates.configurations.Validating,
		"mutatingWebhookConfigurations", o.certificates.configurations.Mutating)
	err = p.run(ctx)
	log.Info("stopped")
	return err
}
