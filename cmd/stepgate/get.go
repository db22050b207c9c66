// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook/judge"
)

// get shows rollouts.
type get struct {
	*cli
	everywhere, all, watch bool
}

func newGet(streams genericiooptions.IOStreams) *cobra.Command {
	g := &get{cli: newCLI(streams)}
	cmd := g.command("get [APPSET]", "Show where rollouts are, and who holds them up", atMost(1), g.run)
	cmd.Long = `Shows one line for every ApplicationSet with steps, and for everything that comes after others; with
a name, the steps and Applications of that ApplicationSet. Alone is an Application that no
ApplicationSet controls: stepgate explain says for whom it waits.

The state is read live, and judged by the rule of the gate. An Application that the ApplicationSet
controller takes for something else than it is has a note. Exit code 1 says that a rollout is not
complete, and 2 that there is none to look at: --allow-empty makes that 0.`
	cmd.Example = `  stepgate get -A
  stepgate get guestbook -n argocd
  stepgate get guestbook -n argocd --watch`
	f := cmd.Flags()
	f.BoolVarP(&g.everywhere, "all-namespaces", "A", false, "show the ApplicationSets of all namespaces")
	f.BoolVar(&g.all, "all", false, "show every Application of a step, and ApplicationSets without steps")
	f.BoolVarP(&g.watch, "watch", "w", false, "go on, and show the rollout again when it changes")
	g.bindEmpty(cmd, "no ApplicationSet with steps")
	g.bindOutput(cmd, "wide", "json", "yaml")
	g.bindCluster(cmd)
	cmd.ValidArgsFunction = g.completeSets
	return cmd
}

func (g *get) run(ctx context.Context, args []string) error {
	r, err := g.rollouts(ctx)
	if err != nil {
		return err
	}
	namespace, err := g.namespace()
	if err != nil {
		return err
	}
	var name *types.NamespacedName
	if len(args) > 0 {
		one, err := r.order(ctx, args[0])
		if err != nil {
			return err
		}
		name, namespace = &one, one.Namespace
	}
	if g.everywhere {
		if name != nil {
			return command.Usage("--all-namespaces goes without the name of an ApplicationSet")
		}
		namespace = ""
	}
	found, _ := readGates(ctx, r.clients.Clientset, namespace) // where the settings are from says so
	if g.watch {
		return g.follow(ctx, r, found, namespace, name)
	}
	known, err := r.read(ctx, namespace, name)
	if err != nil {
		return err
	}
	problem := r.addWindows(ctx, *found.of(namespace), known)
	list := g.judge(r, found, known, name)
	if name != nil {
		list.Items[0].AskGate(r.ask(ctx, name.Namespace, &problem))
	}
	if name != nil && problem != "" {
		list.Items[0].Problems = append(list.Items[0].Problems, problem)
	}
	if err := g.show(list, name, namespace); err != nil {
		return err
	}
	if err := g.unlessEmpty(list, known, namespace); err != nil {
		return err
	}
	return unlessComplete(list)
}

// judge is the state of one ApplicationSet, or of all that have steps or come after others.
func (g *get) judge(r *rollouts, found *gates, known rollout.Known, name *types.NamespacedName) *rollout.List {
	of := r.previews(found, known, func(gate *installed) judge.Evidence { return r.asker(*gate) })
	list := &rollout.List{
		TypeMeta: metav1.TypeMeta{APIVersion: rollout.APIVersion, Kind: "RolloutList"}, Items: []*rollout.Rollout{},
	}
	if name == nil {
		list.Items = rollout.Every(of, known, g.all)
	} else if set, _ := known.Set(*name); set != nil {
		list.Items = append(list.Items, rollout.Judge(of(set.Namespace).Outlook(set)))
	}
	return list
}

func (g *get) show(list *rollout.List, name *types.NamespacedName, namespace string) error {
	switch {
	case g.output == "json" || g.output == "yaml":
		if name != nil && len(list.Items) == 1 {
			return g.printObject(list.Items[0])
		}
		return g.printObject(list)
	case len(list.Items) == 0 && !g.allowEmpty:
		return nil // the error says it
	case len(list.Items) == 0:
		return g.print("No ApplicationSet with steps of RollingSync" + inNamespace(namespace) + ".")
	}
	return g.print(g.lines(list, name, namespace)...)
}

// lines are the screen.
func (g *get) lines(list *rollout.List, name *types.NamespacedName, namespace string) []string {
	wide := g.output == "wide"
	if name != nil {
		return list.Items[0].Tree(g.screen(), time.Now(), g.all || wide)
	}
	return list.Lines(g.screen(), time.Now(), namespace == "", wide)
}

// unlessEmpty is an error if there is no rollout.
func (g *get) unlessEmpty(list *rollout.List, known rollout.Known, namespace string) error {
	if len(list.Items) > 0 || g.allowEmpty {
		return nil
	}
	e := &nothingError{what: "ApplicationSet with steps of RollingSync", namespace: namespace}
	if n := len(known.Sets()); n > 0 {
		e.note = fmt.Sprintf("; %d without steps: --all shows them", n)
	}
	return e
}

// unlessComplete is command.ErrFound where a rollout is not complete.
func unlessComplete(list *rollout.List) error {
	for _, r := range list.Items {
		if r.Phase == rollout.Progressing || r.Phase == rollout.Waiting {
			return command.ErrFound
		}
	}
	return nil
}
