// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook/ledger"
)

const auditLong = `Finds rollouts of the past in which a later step deployed a change before an earlier one.

It reads the syncs that Argo CD has recorded in the Applications of each ApplicationSet with
RollingSync steps. It needs nothing installed in the cluster, only the right to list applications
and applicationsets, and it writes nothing. Where Argo CD's records do not reach back, it uses
stepgate's ledger, if that may be read, and says so.

A rollout is one revision of one repository and branch, or of one chart. An Application is early if
its first sync of the revision started before the first sync of it in an earlier step had finished.
Where the records allow another explanation, the rollout is unclear.

Exit code: 0 if Argo CD kept the order, 1 if it did not, 2 on an error, or if there is no rollout to
look at: --allow-empty makes that 0. What is unclear or was done by hand does not count.`

const auditExample = `  stepgate audit -A --since 7d
  stepgate audit guestbook -n argocd -o wide
  stepgate audit -A -o html > report.html`

func newAudit(streams genericiooptions.IOStreams) *cobra.Command {
	c := newCLI(streams)
	var allNamespaces bool
	var since string
	cmd := c.command("audit [APPSET...]", "Find rollouts of the past that went out of order", cobra.ArbitraryArgs,
		func(ctx context.Context, names []string) error {
			options := audit.Options{Now: time.Now()}
			if since != "" {
				var err error
				if options.Since, err = audit.ParseSince(since); err != nil {
					return command.Usage("--since: %s", err)
				}
			}
			report, err := c.audit(ctx, allNamespaces, names, options)
			if err != nil {
				return err
			}
			if err := c.printAudit(report); err != nil {
				return err
			}
			return c.judged(report, allNamespaces)
		})
	cmd.Long, cmd.Example = auditLong, auditExample
	c.bindCluster(cmd)
	cmd.ValidArgsFunction = c.completeManySets
	c.bindOutput(cmd, "json", "yaml", "html", "wide")
	c.bindEmpty(cmd, "no rollout to look at")
	cmd.Flags().BoolVarP(&allNamespaces, "all-namespaces", "A", false, "look at the ApplicationSets of all namespaces")
	cmd.Flags().StringVar(&since, "since", "",
		"how far to look back, such as 2w, 7d or 24h; all that is on record when empty")
	return cmd
}

// judged is command.ErrFound if a rollout went out of order, and an error if none was looked at.
func (c *cli) judged(report *audit.Report, everywhere bool) error {
	switch {
	case report.Found():
		return command.ErrFound
	case report.Totals.Rollouts > 0 || c.allowEmpty:
		return nil
	}
	namespace := ""
	if !everywhere {
		var err error
		if namespace, err = c.namespace(); err != nil {
			return err
		}
	}
	e := &nothingError{what: "ApplicationSet", namespace: namespace}
	switch {
	case len(report.ApplicationSets) > 0:
		e.what, e.note = "rollout on record", "; is revisionHistoryLimit 0, or --since too short?"
	case report.WithoutSteps > 0:
		e.what, e.note = "ApplicationSet with steps of RollingSync", fmt.Sprintf("; %d without steps", report.WithoutSteps)
	}
	return e
}

// audit reads the cluster, and judges.
func (c *cli) audit(
	ctx context.Context, allNamespaces bool, names []string, options audit.Options,
) (*audit.Report, error) {
	namespace := ""
	if !allNamespaces {
		var err error
		if namespace, err = c.namespace(); err != nil {
			return nil, err
		}
	}
	options.Context = c.context()
	cluster, err := c.cluster()
	if err != nil {
		return nil, err
	}
	collected, err := audit.Read(ctx, cluster.Objects, namespace, names)
	if err != nil {
		return nil, err
	}
	options.Logs = c.logs(ctx, cluster, collected)
	return collected.Report(options), nil
}

// logs are those of the ledger, as far as they may be read: an audit does without.
func (*cli) logs(ctx context.Context, clients *kube.Cluster, collected *audit.Collection) map[types.UID]*ledger.Log {
	sets, all := collected.Sets(), map[types.UID]*ledger.Log{}
	if len(sets) == 0 {
		return all
	}
	gates, _ := readGates(ctx, clients.Clientset, "") // what cannot be read has no ledger
	ledgers := readers{clients: clients, read: map[string]*kept{}}
	for uid, namespace := range sets {
		if log, _ := ledgers.log(ctx, gates.of(namespace), uid); log != nil {
			all[uid] = log
		}
	}
	return all
}

// context is the context of the kubeconfig; empty if there is none, as in a Pod.
func (c *cli) context() string {
	if *c.kube.Context != "" {
		return *c.kube.Context
	}
	config, err := c.kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return config.CurrentContext
}

func (c *cli) printAudit(report *audit.Report) error {
	switch c.output {
	case "json", "yaml":
		return c.printObject(report)
	case "html":
		return audit.HTML(c.Out, report)
	}
	return c.print(audit.Text(c.screen(), report, c.output == "wide")...)
}
