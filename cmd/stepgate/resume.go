// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/act"
)

// resume ends a pause.
type resume struct {
	verb
	steps []int
}

func newResume(streams genericiooptions.IOStreams) *cobra.Command {
	r := &resume{verb: verb{cli: newCLI(streams)}}
	cmd := r.command("resume APPSET", "End the pause of a rollout, or of some of its steps",
		exactly("the name of an ApplicationSet"), r.run)
	cmd.Long = `End the pause of an ApplicationSet, or with --step the pause of one step. The syncs that
wait then start by themselves, in their order.

It changes an annotation of the ApplicationSet, as this does:

  kubectl -n argocd annotate applicationset guestbook stepgate.io/pause-`
	cmd.Example = `  stepgate resume guestbook -n argocd
  stepgate resume guestbook -n argocd --step 3`
	cmd.Flags().IntSliceVar(&r.steps, "step", nil, "the number of a step, or a sync wave; can be repeated")
	r.bind(cmd)
	return cmd
}

func (r *resume) run(ctx context.Context, args []string) error {
	read, err := r.rollouts(ctx)
	if err != nil {
		return err
	}
	name, err := read.order(ctx, args[0])
	if err != nil {
		return err
	}
	v := r.of(read.clients, installation(ctx, read.clients.Clientset, name.Namespace))
	return (&act.Resume{Verb: v, Steps: r.steps}).Do(ctx, name)
}
