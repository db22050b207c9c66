// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/stepgate/stepgate/cmd/act"
	"github.com/stepgate/stepgate/cmd/kube"
)

// verb is a command that changes annotations of an ApplicationSet.
type verb struct {
	*cli
	dryRun, verbose bool
}

func (v *verb) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&v.dryRun, "dry-run", false, "have the API server and the webhooks judge the change, and store nothing")
	f.BoolVarP(&v.verbose, "verbose", "v", false, "also print the kubectl commands that do the same")
	v.bindCluster(cmd)
	cmd.ValidArgsFunction = v.completeSets
}

// of is what package act does it with.
func (v *verb) of(clients *kube.Cluster, gate installed) act.Verb {
	return act.Verb{
		Objects: clients.Objects, Config: gate.config, Installed: gate.exists, Out: v.Out, Screen: v.screen(),
		DryRun: v.dryRun, Verbose: v.verbose,
	}
}
