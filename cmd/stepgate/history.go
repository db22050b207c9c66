// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// told shows the log of rollouts.
type told struct {
	*cli
	everywhere bool
	limit      int
}

var historyLong = `Shows the rollouts of the past that stepgate has written down in its ledger: when each step
started and was complete, what it waited for longest, who approved, what the evidence said, what
failed, and who bypassed the rule.

A rollout is one revision of one repository and branch, or of one chart. The log has the last 50 of
each ApplicationSet, and begins when stepgate first saw it. What an auditor can
rely on: ` + screen.Page("docs/history.md") + `

It needs the right to get and list configmaps in stepgate's namespace.

Exit code: 0, and 2 on an error, or if there is no log: --allow-empty makes that 0.`

func newHistory(streams genericiooptions.IOStreams) *cobra.Command {
	h := &told{cli: newCLI(streams)}
	cmd := h.command("history [APPSET]", "Show what was rolled out when, after what, and who said yes", atMost(1), h.run)
	cmd.Long = historyLong
	cmd.Example = `  stepgate history guestbook -n argocd
  stepgate history -A -o csv > rollouts.csv
  stepgate history guestbook -n argocd -o html > history.html`
	h.bindCluster(cmd)
	h.bindOutput(cmd, "json", "yaml", "csv", "html")
	h.bindEmpty(cmd, "no log")
	cmd.Flags().BoolVarP(&h.everywhere, "all-namespaces", "A", false, "show the ApplicationSets of all namespaces")
	cmd.Flags().IntVar(&h.limit, "limit", 10, "how many rollouts of each ApplicationSet the text shows; 0 is all")
	cmd.ValidArgsFunction = h.completeSets
	return cmd
}

func (h *told) run(ctx context.Context, args []string) error {
	namespace, err := h.namespace()
	if err != nil {
		return err
	}
	r, err := h.rollouts(ctx)
	if err != nil {
		return err
	}
	only := ""
	switch {
	case h.limit < 0:
		return command.Usage("--limit: %d is less than 0", h.limit)
	case len(args) > 0 && h.everywhere:
		return command.Usage("--all-namespaces goes without the name of an ApplicationSet")
	case len(args) > 0:
		name, err := r.order(ctx, args[0])
		if err != nil {
			return err
		}
		namespace, only = name.Namespace, name.Name
	case h.everywhere:
		namespace = ""
	}
	found, err := logs(ctx, r.clients, namespace, only)
	if err != nil {
		return err
	}
	if len(found.ApplicationSets) == 0 && !h.allowEmpty {
		e := &nothingError{what: "log of rollouts", namespace: namespace}
		for _, p := range found.Problems {
			e.note += fmt.Sprintf("; %s: %s", p.ApplicationSet, p.Text)
		}
		return e
	}
	return h.printHistory(found)
}

func (h *told) printHistory(found *history.History) error {
	switch h.output {
	case "json", "yaml":
		return h.printObject(found)
	case "csv":
		return history.CSV(h.Out, found)
	case "html":
		return history.HTML(h.Out, found)
	}
	return h.print(history.Text(h.screen(), found, h.limit)...)
}

// logs are those of the ApplicationSets of a namespace, or of all if that is empty, or of the one with this name.
func logs(ctx context.Context, clients *kube.Cluster, namespace, only string) (*history.History, error) {
	gates, err := readGates(ctx, clients.Clientset, namespace)
	if err != nil && len(gates.all) == 0 {
		return nil, fmt.Errorf("where stepgate is installed cannot be read: %w", err)
	}
	var sets []*argo.ApplicationSet
	err = live.ApplicationSets(ctx, clients.Objects, namespace, func(set *argo.ApplicationSet) {
		if (only == "" || set.Name == only) && argocd.NewApplicationSet(set).Ordered() {
			sets = append(sets, set)
		}
	})
	if err != nil {
		return nil, err
	}
	parents, err := parentsOf(ctx, clients, gates, namespace, only)
	if err != nil {
		return nil, err
	}
	sets = append(sets, parents...)
	if only != "" && len(sets) == 0 {
		return nil, live.NoSet(namespace, only)
	}
	slices.SortFunc(sets, func(a, b *argo.ApplicationSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	all := history.New(time.Now())
	ledgers := readers{clients: clients, one: only != "", read: map[string]*kept{}}
	for _, set := range sets {
		log, why := ledgers.log(ctx, gates.of(set.Namespace), set.UID)
		if why != "" {
			all.Problems = append(all.Problems, history.Problem{ApplicationSet: set.Namespace + "/" + set.Name, Text: why})
			continue
		}
		all.ApplicationSets = append(all.ApplicationSets, log.Told())
	}
	return all, nil
}

// parentsOf are the parents that give an order, in the form of ApplicationSets: all, or the one whose order has this name.
func parentsOf(
	ctx context.Context, clients *kube.Cluster, gates *gates, namespace, only string,
) (all []*argo.ApplicationSet, err error) {
	_, one := policy.ParentNamed(only)
	orders := slices.ContainsFunc(gates.all, func(i *installed) bool { return i.config.Waves })
	if only != "" && !one || only == "" && !orders {
		return nil, nil
	}
	err = live.Applications(ctx, clients.Objects, namespace, func(app *argo.Application) {
		if p := argocd.NewProjection(app); p.Waves != nil && (only == "" || p.Waves.Name == only) {
			all = append(all, argocd.FormOfParent(app))
		}
	})
	return all, err
}

// readers read the ledgers of a cluster, each once.
type readers struct {
	clients *kube.Cluster
	// one says that the log of one ApplicationSet is enough.
	one  bool
	read map[string]*kept
}

// kept is what a ledger has.
type kept struct {
	logs     map[types.UID]*ledger.Log
	problems map[types.UID]error
	err      error
}

// log is the log of an ApplicationSet that a gate gates, or why there is none.
func (r *readers) log(ctx context.Context, gate *installed, set types.UID) (*ledger.Log, string) {
	log, err := r.of(ctx, gate, set)
	if err != nil {
		return nil, cmp.Or(history.Missing(err, gate.namespace), err.Error())
	}
	return log, ""
}

func (r *readers) of(ctx context.Context, gate *installed, set types.UID) (*ledger.Log, error) {
	if r.one || gate.namespace == "" || !gate.ledger {
		return gate.log(ctx, r.clients.Clientset, set)
	}
	k := r.read[gate.namespace]
	if k == nil {
		k = &kept{}
		k.logs, k.problems, k.err = history.ReadAll(ctx, r.clients.Clientset, gate.namespace)
		r.read[gate.namespace] = k
	}
	if k.logs[set] != nil {
		return k.logs[set], nil
	}
	return nil, cmp.Or(k.err, k.problems[set], history.ErrNoLog)
}
