// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// explain says what would become of an operation now.
type explain struct {
	*cli
	operation string
	ask       bool
}

func newExplain(streams genericiooptions.IOStreams) *cobra.Command {
	e := &explain{cli: newCLI(streams)}
	cmd := e.command("explain APP", "Say whether a sync may start now, and who holds it up",
		exactly("the name of an Application"), e.run)
	cmd.Long = `Say whether an operation on an Application would be let through now, held or refused, who holds it
up, what to do about each of them, and what it would deploy.

The operation is the one that Argo CD would ask for by itself: the ApplicationSet controller, or
auto-sync. --operation names another one. Nothing is written. Exit code 1 says that the sync waits.`
	cmd.Example = `  stepgate explain guestbook-prod-eu -n argocd
  stepgate explain guestbook-prod-eu -n argocd --ask-gate`
	f := cmd.Flags()
	f.StringVar(&e.operation, "operation", "",
		"file with the operation (YAML or JSON: the value of Application.operation, or an Application that has one); - "+
			"reads standard input")
	f.BoolVar(&e.ask, "ask-gate", false,
		"also send the operation to the API server as a server dry run, and show the answer of the gate itself; you need "+
			"the right to patch Applications")
	e.bindOutput(cmd, "json", "yaml")
	e.bindCluster(cmd)
	cmd.ValidArgsFunction = e.completeApps
	return cmd
}

func (e *explain) run(ctx context.Context, args []string) error {
	r, err := e.rollouts(ctx)
	if err != nil {
		return err
	}
	name, err := e.name(args[0])
	if err != nil {
		return err
	}
	explanation, err := e.explain(ctx, r, name)
	if err != nil {
		return err
	}
	if e.output == "" {
		err = e.print(explanation.Lines(e.screen(), time.Now())...)
	} else {
		err = e.printObject(explanation)
	}
	if err == nil && explanation.Waits() {
		return command.ErrFound
	}
	return err
}

func (e *explain) explain(ctx context.Context, r *rollouts, name types.NamespacedName) (*rollout.Explanation, error) {
	live, app, err := r.application(ctx, name)
	if err != nil {
		return nil, err
	}
	gate := installation(ctx, r.clients.Clientset, name.Namespace)
	q := rollout.Question{Live: live, App: app, Config: gate.config, By: gate.by}
	if e.operation != "" {
		if q.Operation, err = e.readOperation(); err != nil {
			return nil, err
		}
	}
	known, err := r.reader.Of(ctx, app)
	if err != nil {
		return nil, err
	}
	windows := r.addWindows(ctx, gate, known)
	x, err := rollout.Explain(ctx, r.preview(gate, known), known, q)
	if err != nil {
		return nil, err
	}
	if windows != "" {
		x.Problems = append(x.Problems, windows)
	}
	x.AskArgoCD(func(blocker string) *argo.Application {
		at := types.NamespacedName{Namespace: name.Namespace, Name: blocker}
		if namespace, rest, elsewhere := strings.Cut(blocker, "/"); elsewhere {
			at = types.NamespacedName{Namespace: namespace, Name: rest}
		}
		_, app, err := r.application(ctx, at)
		if err != nil {
			return nil // it may be gone; that it holds the sync up is known without it
		}
		return app
	})
	if e.operation == "" && x.HasCandidates() {
		problem := ""
		if x.Candidates, problem = r.candidates(ctx, name); problem != "" {
			x.Problems = append(x.Problems, problem)
		}
	}
	if e.ask {
		x.Gate = r.askGate(ctx, name, x.Asked())
	}
	x.Events, err = r.events(ctx, name)
	if err != nil {
		x.Problems = append(x.Problems, "Events are not shown: "+err.Error())
	}
	return x, nil
}

// application reads an Application as it is stored, and as Argo CD's type.
func (r *rollouts) application(
	ctx context.Context, name types.NamespacedName,
) (*unstructured.Unstructured, *argo.Application, error) {
	stored, app := &unstructured.Unstructured{}, &argo.Application{}
	stored.SetGroupVersionKind(argo.ApplicationSchemaGroupVersionKind)
	if err := r.clients.Objects.Get(ctx, name, stored); err != nil {
		if cluster.IsMissing(err) {
			return nil, nil, live.NoApplication(name.Namespace, name.Name)
		}
		return nil, nil, fmt.Errorf("get Application %s: %w", name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, app); err != nil {
		return nil, nil, fmt.Errorf("read Application %s: %w", name, err)
	}
	return stored, app, nil
}

// readOperation reads the operation of --operation.
func (e *explain) readOperation() (*argo.Operation, error) {
	text, err := e.readFile(e.operation)
	if err != nil {
		return nil, fmt.Errorf("--operation: %w", err)
	}
	var whole struct {
		Operation *argo.Operation `json:"operation"`
	}
	if err := yaml.Unmarshal(text, &whole); err == nil && whole.Operation != nil {
		return whole.Operation, nil
	}
	var operation argo.Operation
	if err := yaml.UnmarshalStrict(text, &operation); err != nil {
		return nil, fmt.Errorf("--operation: %s is not an operation: %w", e.operation, err)
	}
	if operation.Sync == nil {
		return nil, fmt.Errorf("--operation: %s has no sync; an operation looks like {sync: {revision: ...}}", e.operation)
	}
	return &operation, nil
}

// readFile reads a file, or standard input for "-".
func (c *cli) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.In)
	}
	return os.ReadFile(name) //nolint:gosec // the user names the file
}

// askGate writes the operation as a server dry run: nothing is stored, but all webhooks are called.
func (r *rollouts) askGate(ctx context.Context, name types.NamespacedName, operation *argo.Operation) string {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	before := app.DeepCopy()
	app.Operation = operation
	err := r.clients.Objects.Patch(ctx, app, client.MergeFrom(before), client.DryRunAll)
	switch {
	case err != nil && strings.Contains(err.Error(), "admission webhook"):
		return "refused: " + err.Error()
	case err != nil:
		return "it could not be asked: " + err.Error()
	case app.Operation == nil:
		return "held"
	case app.Operation.Sync != nil && app.Operation.Sync.Revision != "":
		return "let through, at " + policy.Short(app.Operation.Sync.Revision)
	}
	return "let through, with no revision; if stepgate is installed, this Application is not gated by it"
}

// events returns the Events that the gate has posted on an Application.
func (r *rollouts) events(ctx context.Context, name types.NamespacedName) ([]rollout.Event, error) {
	list, err := r.clients.Clientset.EventsV1().Events(name.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "regarding.kind=Application,regarding.name=" + name.Name,
	})
	if err != nil {
		return nil, err
	}
	return rollout.EventsOf(list.Items), nil
}
