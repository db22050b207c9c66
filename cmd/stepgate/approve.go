// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/act"
	"github.com/stepgate/stepgate/cmd/rollout"
)

// approve approves what a step is about to deploy.
type approve struct {
	verb
	// step is the number that people call the step by; nil if none is named.
	step     *int
	revision string
}

func newApprove(streams genericiooptions.IOStreams) *cobra.Command {
	a := &approve{verb: verb{cli: newCLI(streams)}}
	var step func() *int
	cmd := a.command("approve APPSET", "Approve what a step of a rollout is about to deploy",
		exactly("the name of an ApplicationSet"), func(ctx context.Context, args []string) error {
			a.step = step()
			return a.run(ctx, args)
		})
	cmd.Long = `Approve what the Applications of a step are about to deploy: what Argo CD last compared them with,
or, where pinning goes by candidates, the newest commit that lacks nothing but the approval. Without
--step, it is the step that waits for an approval now. A newer commit needs an approval of its own.

It adds to an annotation of the ApplicationSet, as this does, and stepgate's webhook records who you
are:

  kubectl -n argocd annotate applicationset guestbook --overwrite stepgate.io/approved=3@REVISION

Exit code 1 says that nobody was recorded. The approval does not count then.`
	cmd.Example = `  stepgate approve guestbook -n argocd
  stepgate approve guestbook -n argocd --step 3 --revision "$(git rev-parse HEAD)"`
	f := cmd.Flags()
	step = numberFlag(f, "step", "the number of the step, or the sync wave")
	f.StringVar(&a.revision, "revision", "",
		"approve exactly this commit, chart version or digest, whatever the Applications are compared with")
	a.bind(cmd)
	return cmd
}

// numberFlag adds a flag of a whole number. given is that; nil where the flag is not given, as 0 is a number, too.
func numberFlag(f *pflag.FlagSet, name, usage string) (given func() *int) {
	number := f.Int(name, 0, usage)
	return func() *int {
		if !f.Changed(name) {
			return nil
		}
		return number
	}
}

func (a *approve) run(ctx context.Context, args []string) error {
	r, err := a.rollouts(ctx)
	if err != nil {
		return err
	}
	name, err := r.order(ctx, args[0])
	if err != nil {
		return err
	}
	_, err = a.approveAs(ctx, r, name, nil)
	return err
}

// approveAs approves, and returns what. seen is what somebody was shown before: where it would be something else by now,
// nothing is approved. Without seen, it is not looked at.
func (a *approve) approveAs(
	ctx context.Context, r *rollouts, name types.NamespacedName, seen []string,
) (approves []string, err error) {
	known, err := r.reader.One(ctx, name)
	if err != nil {
		return nil, err
	}
	gate := installation(ctx, r.clients.Clientset, name.Namespace)
	problem := r.addWindows(ctx, gate, known)
	set, _ := known.Set(name)
	ahead, ask := r.preview(gate, known).Outlook(set), rollout.Ask(nil)
	if ahead.Settings.Candidates {
		ask = r.ask(ctx, name.Namespace, &problem)
	}
	proposal, err := rollout.Propose(ahead, ask, a.step, a.revision)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		proposal.Warnings = append(proposal.Warnings, problem)
	}
	return proposal.Texts(), (&act.Approve{Verb: a.of(r.clients, gate), Seen: seen}).Do(ctx, set, proposal)
}
