// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

const (
	// settle is how long changes are collected before they are shown on a terminal, and settleLines the same where each
	// is a line.
	settle      = 200 * time.Millisecond
	settleLines = time.Second
	// tick is how often the ages on a terminal are brought up to date.
	tick = time.Second
	// slowTick is how often else one looks at what ends without a change, such as a soak time.
	slowTick = 5 * time.Second
)

// watch calls each with what the watches of namespaces know, at first and after every change, until each returns true or
// ctx is done. It also calls it every tick; where that is 0, from time to time.
func (r *rollouts) watch(
	ctx context.Context, namespaces []string, gate installed, tick time.Duration,
	each func(known *cluster.Cache, changed bool) (end bool, err error),
) error {
	known, err := kube.Watched(r.clients.Config, namespaces, gate.projects)
	if err != nil {
		return err
	}
	known.Track(gate.config.Tracking)
	changes := make(chan struct{}, 1)
	known.OnChange(func(types.NamespacedName) {
		select {
		case changes <- struct{}{}:
		default:
		}
	})
	running, end := context.WithCancel(ctx)
	defer end()
	go known.Run(running)
	if !cache.WaitForCacheSync(running.Done(), known.Synced) {
		return ctx.Err()
	}
	ticker := time.NewTicker(cmp.Or(tick, slowTick))
	defer ticker.Stop()
	changed, gather := true, settleLines
	if tick > 0 {
		gather = settle
	}
	for {
		if done, err := each(known, changed); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			changed = false
		case <-changes:
			changed = true
			select {
			case <-ctx.Done():
			case <-time.After(gather):
			}
		}
	}
}

// namespaces are those in which the members are of one ApplicationSet or parent of a namespace, or of all; an empty one
// stands for all. It is an error if the user may not watch one of them.
func (r *rollouts) namespaces(
	ctx context.Context, namespace string, name *types.NamespacedName,
) (all []string, err error) {
	if err := r.mayWatch(ctx, namespace); err != nil || namespace == "" {
		return []string{namespace}, err
	}
	var sets []*argocd.ApplicationSet
	if name == nil {
		known, err := r.reader.All(ctx, namespace)
		if err != nil {
			return nil, err
		}
		sets = known.Sets()
	} else if set, err := r.live.ApplicationSet(ctx, *name); err != nil {
		return nil, err
	} else if set != nil {
		sets = append(sets, set)
	}
	all = []string{namespace}
	for _, set := range sets {
		for _, other := range set.Namespaces() {
			if slices.Contains(all, other) {
				continue
			}
			if err := r.mayWatch(ctx, other); err != nil {
				return nil, err
			}
			all = append(all, other)
		}
	}
	return all, nil
}

// may asks the API server whether the user has a right on a resource of Argo CD; an empty namespace is all of them.
func (r *rollouts) may(ctx context.Context, verb, resource, namespace string) (bool, error) {
	review, err := r.clients.Clientset.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: argo.SchemeGroupVersion.Group, Resource: resource,
			}},
		}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask which rights you have: %w", err)
	}
	return review.Status.Allowed, nil
}

// mayWatch asks the API server: an informer without the right tries for ever, and says nothing.
func (r *rollouts) mayWatch(ctx context.Context, namespace string) error {
	for _, resource := range []string{"applicationsets", "applications"} {
		allowed, err := r.may(ctx, "watch", resource, namespace)
		if err != nil {
			return err
		}
		if !allowed {
			where := "in namespace " + namespace
			if namespace == "" {
				where = "in all namespaces"
			}
			return fmt.Errorf("you may not watch %s.%s %s; stepgate get without --watch needs only get and list", resource,
				argo.SchemeGroupVersion.Group, where)
		}
	}
	return nil
}

const (
	// A terminal has a second screen, as xterm has it, which keeps what was scrolled out of the first one.
	enterScreen, leaveScreen = "\x1b[?1049h", "\x1b[?1049l"
	// clearScreen empties a screen and goes to its first line, as ECMA-48 has it.
	clearScreen = "\x1b[H\x1b[2J"
	// footer is how many lines are below the rollout.
	footer = 2
)

// follow shows rollouts, and shows them again when they change. On a terminal it draws in place; elsewhere it prints a
// line per change.
func (g *get) follow(
	ctx context.Context, r *rollouts, found *gates, namespace string, name *types.NamespacedName,
) error {
	if g.output == "json" || g.output == "yaml" {
		return command.Usage("--watch shows text; for JSON use stepgate wait, or repeat stepgate get")
	}
	if name != nil {
		if set, err := r.live.ApplicationSet(ctx, *name); err != nil || set == nil {
			return orNotFound(err, *name)
		}
	}
	refresh, last := time.Duration(0), []string(nil)
	if g.screen().Live {
		refresh = tick
		defer func() { g.leave(last) }()
	}
	before := map[string]string{}
	var at time.Time
	seen, read := false, time.Now()
	namespaces, err := r.namespaces(ctx, namespace, name)
	if err != nil {
		return err
	}
	err = r.watch(ctx, namespaces, *found.of(namespace), refresh, func(known *cluster.Cache, changed bool) (bool, error) {
		if time.Since(read) > settingsEvery {
			found, read = r.again(ctx, found, namespace), time.Now()
		}
		list := g.judge(r, found, known, name)
		slices.SortFunc(list.Items, func(a, b *rollout.Rollout) int {
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
		if changed {
			at = time.Now()
		}
		if name != nil && len(list.Items) == 0 {
			return true, noSet(*name)
		}
		if !seen { // one that ends later is an answer
			if err := g.unlessEmpty(list, known, namespace); err != nil {
				return true, err
			}
			seen = true
		}
		if !g.screen().Live {
			return false, g.print(changes(list, before, time.Now())...)
		}
		enter := ""
		if last == nil {
			enter = enterScreen
		}
		last = g.lines(list, name, namespace)
		return false, g.draw(enter, last, at)
	})
	if ctx.Err() != nil {
		return nil // the user has seen enough
	}
	return err
}

// again reads the installations again. Those that are known stay if they cannot be read.
func (r *rollouts) again(ctx context.Context, known *gates, namespace string) *gates {
	ctx, cancel := context.WithTimeout(ctx, connectionEvery)
	defer cancel()
	if found, err := readGates(ctx, r.clients.Clientset, namespace); err == nil || apierrors.IsForbidden(err) {
		return found
	}
	return known
}

// leave goes back to what the terminal had shown, and prints the last state below that.
func (g *get) leave(last []string) {
	if last != nil {
		_, _ = fmt.Fprint(g.Out, leaveScreen) // who does not get this gets no more
		_ = g.print(last...)
	}
}

// draw shows as many lines as the terminal has.
func (g *get) draw(enter string, lines []string, at time.Time) error {
	s := g.screen()
	if most := s.Height - footer; s.Height > footer+1 && len(lines) > most {
		hidden := len(lines) - most + 1
		lines = append(slices.Clip(lines[:most-1]), fmt.Sprintf(
			"... %d more lines: make the terminal higher, or use stepgate get without --watch", hidden,
		))
	}
	lines = append(slices.Clip(lines), "", screenNote(s.Width,
		fmt.Sprintf("Last change at %s. Ctrl-C ends.", at.Format(time.TimeOnly))))
	_, err := fmt.Fprint(g.Out, enter+clearScreen+strings.Join(lines, "\r\n"))
	return err
}

func screenNote(width int, text string) string {
	if width > 0 && len(text) > width {
		return text[:width]
	}
	return text
}

// changes are a line for each rollout that reads otherwise than before. It brings before up to date.
func changes(list *rollout.List, before map[string]string, now time.Time) []string {
	var lines []string
	for _, r := range list.Items {
		key, line := r.Namespace+"/"+r.Name, r.Line()
		if before[key] != line {
			before[key] = line
			lines = append(lines, now.UTC().Format(time.RFC3339)+" "+line)
		}
	}
	return lines
}

func orNotFound(err error, name types.NamespacedName) error {
	if err != nil {
		return err
	}
	return noSet(name)
}
