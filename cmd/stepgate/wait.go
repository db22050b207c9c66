// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// wait waits for a rollout, or for one Application.
type wait struct {
	*cli
	revision string
	timeout  time.Duration
}

func newWait(streams genericiooptions.IOStreams) *cobra.Command {
	w := &wait{cli: newCLI(streams)}
	cmd := w.command("wait APP|APPSET", "Wait until an Application may start, or a rollout is complete",
		exactly("the name of an Application or ApplicationSet"), w.run)
	cmd.Long = `Wait until a sync of an Application may start, or until every Application of an ApplicationSet is
done. Write app/NAME or appset/NAME where both have the same name.

Right after a commit, Argo CD has not noticed it yet, and the rollout of the commit before is
complete. --revision waits until every Application has deployed this commit or a newer one, and is
Healthy. On a terminal it shows one line, elsewhere it prints a line for each change. Exit code 1
says that the time is over.`
	cmd.Example = `  stepgate wait guestbook -n argocd --revision "$(git rev-parse HEAD)" --timeout 30m
  stepgate wait app/guestbook-prod-eu -n argocd --timeout 10m`
	f := cmd.Flags()
	f.StringVar(&w.revision, "revision", "",
		"the commit, chart version or digest, or its first characters (4 at least), that every Application has to have "+
			"deployed, or a newer one")
	f.DurationVar(&w.timeout, "timeout", 0, "how long to wait; 0 waits without end")
	w.bindCluster(cmd)
	cmd.ValidArgsFunction = w.completeBoth
	return cmd
}

// shortestRevision is how much of a revision has to be given.
const shortestRevision = 4

func (w *wait) run(ctx context.Context, args []string) error {
	if w.timeout < 0 {
		return command.Usage("--timeout: it cannot be negative")
	}
	if w.revision != "" && len(w.revision) < shortestRevision {
		return command.Usage("--revision: %q is too short; give %d characters at least", w.revision, shortestRevision)
	}
	r, err := w.rollouts(ctx)
	if err != nil {
		return err
	}
	goal, set, err := w.goal(ctx, r, args[0])
	if err != nil {
		return err
	}
	gate := installation(ctx, r.clients.Clientset, set.Namespace)
	waiting := ctx
	if w.timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	show := &progress{cli: w.cli, screen: w.screen(), began: time.Now()}
	refresh := time.Duration(0)
	if show.screen.Live {
		refresh = tick
	}
	namespaces, err := r.namespaces(ctx, set.Namespace, &set)
	if err != nil {
		return err
	}
	err = r.watch(waiting, namespaces, gate, refresh, func(known *cluster.Cache, _ bool) (bool, error) {
		found, _ := known.Set(set)
		if found == nil {
			return true, noSet(set)
		}
		now := rollout.Judge(r.preview(gate, known).Outlook(found))
		reached, text, err := goal.Reached(now)
		if err != nil {
			return true, err
		}
		if reached {
			return true, show.end(goal.Achieved(now, time.Since(show.began)))
		}
		return false, show.state(text)
	})
	if err != nil {
		show.leave()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		_, _ = fmt.Fprintf(w.ErrOut, "stepgate: after %s it still waits; stepgate get %s -n %s says for whom\n", w.timeout,
			set.Name, set.Namespace)
		return command.ErrFound
	case errors.Is(err, context.Canceled):
		return command.ErrFound
	}
	return err
}

// progress shows what is waited for: on a terminal in one line that is drawn again, elsewhere as a line for each
// change.
type progress struct {
	*cli
	screen screen.Screen
	began  time.Time
	last   string
}

// again goes to the beginning of the line and empties it, as ECMA-48 has it.
const again = "\r\x1b[K"

func (p *progress) state(text string) error {
	if p.screen.Live {
		line := rollout.Age(time.Since(p.began)) + "  " + text
		_, err := fmt.Fprint(p.Out, again+screen.Cut(line, p.screen.Width-1))
		return err
	}
	if text == p.last {
		return nil
	}
	p.last = text
	return p.print(time.Now().UTC().Format(time.RFC3339) + " " + text)
}

// end shows the last line.
func (p *progress) end(text string) error {
	if p.screen.Live {
		text = again + p.screen.Paint(screen.Good, screen.SignGood) + " " + text
	}
	return p.print(text)
}

// leave leaves the line on the terminal as it is.
func (p *progress) leave() {
	if p.screen.Live {
		_, _ = fmt.Fprintln(p.Out)
	}
}

// goal finds out for what to wait: KIND/NAME says it, and otherwise the name has to belong to one object only.
func (w *wait) goal(
	ctx context.Context, r *rollouts, arg string,
) (goal rollout.Goal, set types.NamespacedName, err error) {
	goal.Revision = w.revision
	kind := ""
	if before, after, found := strings.Cut(arg, "/"); found {
		switch before {
		case "app", "application", "applications":
			kind, arg = "app", after
		case "appset", "applicationset", "applicationsets":
			kind, arg = "appset", after
		}
	}
	name, err := w.name(arg)
	if err != nil {
		return goal, set, err
	}
	if kind != "app" {
		found, err := r.live.ApplicationSet(ctx, name)
		if err != nil {
			return goal, set, err
		}
		switch {
		case found == nil && kind == "appset":
			return goal, set, noSet(name)
		case found != nil && kind == "":
			app, err := r.live.Application(ctx, name)
			if err == nil && app != nil {
				return goal, set, command.Usage("%s is an Application and an ApplicationSet: write app/%s or appset/%s", name,
					name.Name, name.Name)
			}
			return goal, name, err
		case found != nil:
			return goal, name, nil
		}
	}
	if parent := (types.NamespacedName{Namespace: name.Namespace, Name: policy.NameOfParent(name.Name)}); kind == "" {
		if found, err := r.live.ApplicationSet(ctx, parent); err != nil || found != nil {
			return goal, parent, err
		}
	}
	app, err := r.live.Application(ctx, name)
	switch {
	case err != nil:
		return goal, set, err
	case app == nil && kind == "app":
		return goal, set, live.NoApplication(name.Namespace, name.Name)
	case app == nil:
		return goal, set, &live.NotFoundError{
			Kind: "Application or ApplicationSet", Namespace: name.Namespace, Names: []string{name.Name},
		}
	}
	set, err = r.reader.OrderOf(ctx, app)
	goal.Application = policy.MemberName(set.Namespace, name.Namespace, name.Name)
	if err == nil && set.Name == "" {
		//nolint:staticcheck // the kind of an object
		err = fmt.Errorf("Application %s belongs to no ApplicationSet: it waits for nobody", name)
	}
	return goal, set, err
}
