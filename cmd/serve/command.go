// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Flags are what a program can be told.
type Flags interface {
	// Bind adds them.
	Bind(f *pflag.FlagSet)
	// Validate says what is wrong with them: a command.UsageError.
	Validate() error
	// Config is what the valid ones say about the rule.
	Config() (settings.Config, error)
}

// NewCommand is the sub-command serve of a program. run serves until ctx is done or a part of it fails; the log is in
// ctx.
func NewCommand(
	o Flags, short, example string, run func(ctx context.Context, config settings.Config) error,
) *cobra.Command {
	zapOptions := &zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	cmd := &cobra.Command{
		Use: "serve", Short: short, Example: example, Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			config, err := o.Config()
			if err != nil {
				return err
			}
			log := zap.New(zap.UseFlagOptions(zapOptions))
			ctrllog.SetLogger(log)
			klog.SetLogger(log)
			limitMemory(log)
			err = run(logr.NewContext(cmd.Context(), log), config)
			log.Info("stopped")
			return err
		},
	}
	cmd.Flags().SortFlags = false
	o.Bind(cmd.Flags())
	flags.BindLog(cmd.Flags(), zapOptions)
	return cmd
}

// memoryRatio is the part of the container's memory limit that is GOMEMLIMIT: near it, Go collects garbage more often.
const memoryRatio = 0.9

func limitMemory(log logr.Logger) {
	if _, err := memlimit.Set(memlimit.WithRatio(memoryRatio)); err != nil {
		log.Info("the container's memory limit cannot be read; GOMEMLIMIT stays as it is", "problem", err.Error())
	}
}

// Ended returns an error if a part of a program ends before ctx is done.
func Ended(ctx context.Context, part string, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("ended unexpectedly")
	}
	return fmt.Errorf("%s: %w", part, err)
}
