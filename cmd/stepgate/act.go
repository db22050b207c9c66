// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/act"
	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/dashboard"
)

// Act implements dashboard.Facts: it does what the command of that name does, and answers what that prints.
func (b *board) Act(ctx context.Context, a dashboard.Action) dashboard.Answer {
	out := &bytes.Buffer{}
	c := &cli{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: out}, kube: b.kube, getenv: b.getenv,
	}
	v, name := verb{cli: c, dryRun: a.DryRun}, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	answer := dashboard.Answer{Command: act.CommandOf(a)}
	var steps []int
	if number := a.Number(); number != nil {
		steps = []int{*number}
	}
	var err error
	gate := *b.gates.Load().of(a.Namespace)
	switch a.Verb {
	case dashboard.Pause:
		err = (&act.Pause{Verb: v.of(b.clients, gate), Steps: steps, Reason: a.Reason}).Do(ctx, name)
	case dashboard.Resume:
		err = (&act.Resume{Verb: v.of(b.clients, gate), Steps: steps}).Do(ctx, name)
	case dashboard.Approve:
		approve := &approve{verb: v, step: a.Number(), revision: a.Revision}
		answer.Approves, err = approve.approveAs(ctx, b.as(c), name, a.Approves)
	case dashboard.Refresh:
		err = b.refresh(ctx, c, name, a.DryRun)
	default:
		err = command.Usage("%q is none of pause, resume, approve and refresh", a.Verb)
	}
	answer.OK = err == nil
	answer.Lines = texts(out.String())
	if err != nil && !errors.Is(err, command.ErrFound) {
		answer.Lines = append(answer.Lines, b.explained(b.cmd, err).Error())
	}
	answer.Lines = slices.DeleteFunc(answer.Lines, func(line string) bool { return line == "" })
	return answer
}

// as is rollouts that print elsewhere.
func (r *rollouts) as(c *cli) *rollouts {
	return &rollouts{cli: c, clients: r.clients, live: r.live, reader: r.reader}
}

// refresh has Argo CD compare an Application again.
func (b *board) refresh(ctx context.Context, c *cli, name types.NamespacedName, dryRun bool) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeNormal)},
	}})
	if err != nil {
		return err
	}
	var options []client.PatchOption
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	if err := b.clients.Objects.Patch(ctx, app, client.RawPatch(types.MergePatchType, patch), options...); err != nil {
		return fmt.Errorf("refresh Application %s: %w", name, err)
	}
	return c.print("Argo CD compares " + name.String() + " with its sources again.")
}
