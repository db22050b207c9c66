// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/act"
)

// pause stops the steps of a rollout.
type pause struct {
	verb
	steps  []int
	reason string
}

func newPause(streams genericiooptions.IOStreams) *cobra.Command {
	p := &pause{verb: verb{cli: newCLI(streams)}}
	cmd := p.command("pause APPSET", "Let nothing new start in a rollout, or in some of its steps",
		exactly("the name of an ApplicationSet"), p.run)
	cmd.Long = `Let nothing new start in the steps of an ApplicationSet. Syncs that run go on. Without --step, every
step is paused; with --step, this one beside those that are paused already. The exit code is 1 where
stepgate's webhook does not answer: then nobody keeps the pause.

It sets an annotation of the ApplicationSet, as this does:

  kubectl -n argocd annotate applicationset guestbook --overwrite 'stepgate.io/pause=all: INC-1234'`
	cmd.Example = `  stepgate pause guestbook -n argocd --reason INC-1234
  stepgate pause guestbook -n argocd --step 3 --step 4`
	f := cmd.Flags()
	f.IntSliceVar(&p.steps, "step", nil, "the number of a step, or a sync wave; can be repeated")
	f.StringVar(&p.reason, "reason", "", "why, for everybody who meets the pause")
	p.bind(cmd)
	return cmd
}

func (p *pause) run(ctx context.Context, args []string) error {
	r, err := p.rollouts(ctx)
	if err != nil {
		return err
	}
	name, err := r.order(ctx, args[0])
	if err != nil {
		return err
	}
	v := p.of(r.clients, installation(ctx, r.clients.Clientset, name.Namespace))
	return (&act.Pause{Verb: v, Steps: p.steps, Reason: p.reason}).Do(ctx, name)
}
