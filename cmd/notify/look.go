// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook/argocd"
	gate "github.com/stepgate/stepgate/webhook/settings"
)

// look looks once at every rollout that somebody is to be told of, and that is due.
func (n *Notifier) look(ctx context.Context) {
	if ctx.Err() != nil || !n.Known.Synced() {
		return
	}
	n.readSettings(ctx)
	if n.settings == nil || !n.readState(ctx) {
		return
	}
	n.takeBack(ctx)
	n.post.late(n)
	n.mu.Lock()
	changed := n.changed
	n.changed = map[types.NamespacedName]bool{}
	n.mu.Unlock()
	there, now := map[types.UID]bool{}, n.Clock.Now()
	again := n.again(now)
	for _, set := range n.Known.Sets() {
		uid := types.UID(set.UID)
		there[uid] = true
		if !n.Gated(set.Namespace) || !set.Ordered() || set.Deleting {
			continue
		}
		name := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
		if last, before := n.looked[uid]; before && !changed[name] && !again[uid] && now.Sub(last) < restEvery {
			continue
		}
		n.looked[uid] = now
		n.guarded(ctx, name.String(), func() { n.tell(ctx, set) })
	}
	n.forget(there, now)
}

// again are the ApplicationSets with a message that was not sent when it was due, and may be sent now.
func (n *Notifier) again(now time.Time) map[types.UID]bool {
	all := maps.Clone(n.post.queued)
	for m, t := range n.tries {
		if !now.Before(t.next) {
			all[m.set] = true
		}
	}
	return all
}

// forget drops what is remembered of ApplicationSets that are gone, and of what was long ago.
func (n *Notifier) forget(there map[types.UID]bool, now time.Time) {
	maps.DeleteFunc(n.looked, func(uid types.UID, _ time.Time) bool { return !there[uid] })
	maps.DeleteFunc(n.post.queued, func(uid types.UID, _ bool) bool { return !there[uid] })
	maps.DeleteFunc(n.waits, func(uid types.UID, _ map[string]time.Time) bool { return !there[uid] })
	maps.DeleteFunc(n.tries, func(m message, t *try) bool {
		return !there[m.set] || !t.owed && now.Sub(t.next) > forgetAfter
	})
	maps.DeleteFunc(n.said, func(_ string, at time.Time) bool { return now.Sub(at) > sayAgain })
}

// readSettings reads the settings of Argo CD's notifications again if it is time. Those that were read before count
// while they cannot be read.
func (n *Notifier) readSettings(ctx context.Context) {
	now := n.Clock.Now()
	if now.Sub(n.settingsAt) < settingsFor {
		return
	}
	n.settingsAt = now
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	config, secret, err := n.Source.Settings(ctx)
	if err != nil {
		n.problem(ctx, about{}, "settings", err)
		return
	}
	if config.ResourceVersion == "" {
		n.problem(ctx, about{}, "settings", fmt.Errorf("there is no ConfigMap %s: no service is configured", ConfigMapName))
	}
	if versions := [2]string{config.ResourceVersion, secret.ResourceVersion}; n.settings == nil || n.versions != versions {
		n.versions = versions
		n.redact.Store(newRedactor(secret))
		n.settings = newSettings(config, secret)
		// What was wrong may be right now.
		clear(n.looked)
		maps.DeleteFunc(n.tries, func(_ message, t *try) bool { return !t.owed })
		logr.FromContextOrDiscard(ctx).Info("settings of notifications read", "services",
			strings.Join(slices.Sorted(maps.Keys(n.settings.services)), " "), "problems", len(n.settings.problems))
	}
	for _, err := range n.settings.problems {
		n.problem(ctx, about{}, "settings", err)
	}
}

// readState reads what was sent, if it is time. Nothing is sent while that is not known.
func (n *Notifier) readState(ctx context.Context) bool {
	if n.Clock.Now().Sub(n.stateAt) < stateFor {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := n.reread(ctx); err != nil {
		n.problem(ctx, about{}, "state", err)
		return false
	}
	return true
}

func (n *Notifier) reread(ctx context.Context) error {
	data, version, err := n.Store.Read(ctx)
	if err != nil {
		return err
	}
	s, err := parseState(data)
	if err != nil {
		return fmt.Errorf("what was sent cannot be read, so nothing is sent; delete the ConfigMap: %w", err)
	}
	n.state, n.version, n.stateAt = s, version, n.Clock.Now()
	return nil
}

// tell sends what people are to be told of one rollout.
func (n *Notifier) tell(ctx context.Context, set *argocd.ApplicationSet) {
	delete(n.post.queued, types.UID(set.UID))
	to := n.subscribed(ctx, set)
	if len(to) == 0 {
		return
	}
	f := n.facts(set)
	vars := f.vars(n.settings.context)
	c := change{set: types.UID(set.UID), name: set.Namespace + "/" + set.Name}
	var due []parcel
	for _, name := range slices.Sorted(maps.Keys(to)) {
		t := n.settings.triggers[name]
		results, err := t.run(name, vars)
		if err != nil {
			n.problem(ctx, about{set: set, trigger: name}, "bad-trigger", fmt.Errorf("trigger %q: %w", name, err))
			continue
		}
		for i, result := range results {
			for _, destination := range to[name] {
				note := noteOf(name, i, result.OncePer, destination)
				sent := n.state.has(c.set, note)
				switch {
				case result.Triggered:
					c.live = append(c.live, note)
					if !sent {
						due = append(due, parcel{
							message: message{c.set, note}, about: about{set, name, destination.Service}, to: destination,
							templates: result.Templates,
						})
					}
				case sent && f.noGate: // a gate that comes and goes has nobody told twice
					c.live = append(c.live, note)
				case sent && t.conditions[i].OncePer == "":
					c.remove = append(c.remove, note)
				}
			}
		}
	}
	n.send(ctx, c, n.pack(ctx, c, due, vars))
}

// subscribed are who is told of an ApplicationSet. It says what is wrong with the subscriptions.
func (n *Notifier) subscribed(ctx context.Context, set *argocd.ApplicationSet) services.Destinations {
	r := n.settings.subscribed(set)
	for _, err := range r.wrong {
		n.problem(ctx, about{set: set}, "subscription", err)
	}
	if len(r.unknown) > 0 {
		n.problem(ctx, about{set: set}, "no-trigger", fmt.Errorf("there is no trigger %s", quoted(r.unknown)))
	}
	return r.to
}

// facts judges a rollout by what the watches know.
func (n *Notifier) facts(set *argocd.ApplicationSet) *facts {
	uid := types.UID(set.UID)
	r, s := n.judge(set)
	f := &facts{
		set: set, r: r, enforced: s.Mode == gate.Enforce && !s.Bypassed, noGate: s.NoGate != "", problem: s.GateProblem,
		now: n.Clock.Now(),
	}
	seen, before := map[string]time.Time{}, n.waits[uid]
	f.each(func(_ *rollout.Step, a *rollout.Application) {
		if reasonOf(a) == "" {
			return
		}
		seen[a.Name] = f.now
		if since, waited := before[a.Name]; waited {
			seen[a.Name] = since
		}
	})
	n.waits[uid] = seen
	f.since = func(app string) time.Time { return seen[app] }
	f.failures = map[string]string{}
	for _, p := range n.Known.Owned(uid) {
		f.contents = append(f.contents, p.Content.Parameters+p.Content.Around)
		if last := &p.Application.LastFull; last.AtCompared &&
			(last.Phase == "Failed" || last.Phase == "Error") {
			f.failures[p.Name] = last.Phase
		}
	}
	return f
}
