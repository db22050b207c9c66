package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	gate "github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/siblings"
)

const (
	// lookEvery is how often a rollout is looked at that has changed, and restEvery the others: time passes for them.
	lookEvery, restEvery = 10 * time.Second, time.Minute
	// settingsFor is for how long the settings of Argo CD's notifications are not read again.
	settingsFor = 30 * time.Second
	// stateFor is for how long what was sent is not read again: a replica that has led may take a note back.
	stateFor = time.Minute
	// callTime bounds the calls of the API server for one step.
	callTime = 10 * time.Second
	// mostTries bounds how often a note is written again because another write has come between.
	mostTries = 10
)

// Known is what the watches know.
type Known interface {
	rollout.Known
	// Synced reports whether the first lists are complete.
	Synced() bool
}

var _ Known = (*siblings.Cache)(nil)

// Source reads the settings of Argo CD's notifications.
type Source interface {
	Settings(ctx context.Context) (*corev1.ConfigMap, *corev1.Secret, error)
}

// Store keeps the state, by compare-and-swap.
type Store interface {
	Read(ctx context.Context) (data map[string]string, version string, err error)
	Write(ctx context.Context, data map[string]string, version string) (string, error)
}

// Observer counts what becomes of messages.
type Observer interface {
	NotificationDone(trigger, service, result string)
}

// Poster posts an Event on an ApplicationSet.
type Poster interface {
	Notify(ctx context.Context, set types.NamespacedName, uid types.UID, note string)
}

// Options are what a Notifier is made from.
type Options struct {
	Config gate.Config
	Known  Known
	// Gated reports whether a namespace is gated.
	Gated    func(namespace string) bool
	Source   Source
	Store    Store
	Observer Observer
	Poster   Poster
	Clock    clock.WithTicker
}

// Notifier tells people about rollouts. One goroutine runs it; Changed may be called by any.
type Notifier struct {
	Options
	preview *webhook.Preview
	// judge tells where a rollout is.
	judge func(set *argocd.ApplicationSet) *rollout.Rollout

	mu      sync.Mutex
	changed map[types.NamespacedName]bool

	settings   *settings
	settingsAt time.Time
	// versions are those of the objects that the settings were made from.
	versions [2]string
	redact   *atomic.Pointer[redactor]

	state   state
	version string
	stateAt time.Time

	// looked is when an ApplicationSet was last looked at, by its UID.
	looked map[types.UID]time.Time
	// waits is since when an Application was seen to wait, by the UID of its ApplicationSet and its name.
	waits map[types.UID]map[string]time.Time
	tries map[message]*try
	said  map[string]time.Time
	post  *post
}

// New returns a Notifier, which judges rollouts as the gate with this configuration does.
func New(o Options) *Notifier {
	preview := webhook.NewPreview(o.Config, rollout.NewEvaluator(o.Known), o.Known, o.Known, o.Clock)
	preview.LookAt(judge.ProjectWindows{Known: o.Known})
	n := &Notifier{
		Options: o, preview: preview, changed: map[types.NamespacedName]bool{}, looked: map[types.UID]time.Time{},
		waits: map[types.UID]map[string]time.Time{}, tries: map[message]*try{}, said: map[string]time.Time{},
		post: newPost(o.Clock), redact: &atomic.Pointer[redactor]{},
	}
	n.redact.Store(&redactor{})
	n.judge = func(set *argocd.ApplicationSet) *rollout.Rollout { return rollout.Judge(preview, o.Known, set) }
	return n
}

// Changed has an ApplicationSet looked at. It does not block.
func (n *Notifier) Changed(set types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed[set] = true
}

// Run tells people until ctx is done, and waits a moment then for what is being sent.
func (n *Notifier) Run(ctx context.Context) {
	n.begin()
	ticker := n.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		n.guarded(ctx, "look", func() { n.look(ctx) })
		select {
		case <-ctx.Done():
			n.end(ctx)
			return
		case r := <-n.post.results:
			n.guarded(ctx, "result", func() { n.settle(ctx, r) })
		case <-ticker.C():
		}
	}
}

// begin forgets what an earlier Run has read and seen: another replica has led since.
func (n *Notifier) begin() {
	n.settingsAt, n.stateAt = time.Time{}, time.Time{}
	clear(n.looked)
	clear(n.waits)
}

// end settles what is still being sent, as far as that ends soon. The notes of the rest stay: it may arrive.
func (n *Notifier) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	for len(n.post.flying) > 0 {
		select {
		case r := <-n.post.results:
			n.guarded(ctx, "result", func() { n.settle(ctx, r) })
		case <-ctx.Done():
			return
		}
	}
}

// guarded does something of which a panic must not end the process: it serves the webhooks as well.
func (n *Notifier) guarded(ctx context.Context, what string, do func()) {
	defer func() {
		if r := recover(); r != nil {
			err := errors.New(n.redact.Load().text(fmt.Sprint("panic: ", r)))
			logr.FromContextOrDiscard(ctx).Error(err, "no notifications for the moment", "doing", what,
				"stack", string(debug.Stack()))
		}
	}()
	do()
}

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
	there := map[types.UID]bool{}
	now := n.Clock.Now()
	for _, set := range n.Known.Sets() {
		uid := types.UID(set.UID)
		there[uid] = true
		if !n.Gated(set.Namespace) || !set.RollingSync || len(set.Steps) == 0 || set.Deleting {
			continue
		}
		to := n.settings.destinations(set)
		name := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
		last, before := n.looked[uid]
		if len(to) == 0 || before && !changed[name] && !n.post.waits(uid) && now.Sub(last) < restEvery {
			continue
		}
		n.looked[uid] = now
		n.guarded(ctx, name.String(), func() { n.tell(ctx, set, to) })
	}
	n.forget(there, now)
}

// forget drops what is remembered of ApplicationSets that are gone, and of what was long ago.
func (n *Notifier) forget(there map[types.UID]bool, now time.Time) {
	maps.DeleteFunc(n.looked, func(uid types.UID, _ time.Time) bool { return !there[uid] })
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
func (n *Notifier) tell(ctx context.Context, set *argocd.ApplicationSet, to services.Destinations) {
	vars := n.facts(set).vars(n.settings.context)
	c := change{set: types.UID(set.UID), name: set.Namespace + "/" + set.Name}
	var due []parcel
	for _, name := range slices.Sorted(maps.Keys(to)) {
		t, ok := n.settings.triggers[name]
		if !ok {
			n.problem(ctx, about{set: set}, "no-trigger", fmt.Errorf("there is no trigger %q", policy.ClientText(name)))
			continue
		}
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
					if p := (parcel{
						message: message{c.set, note}, about: about{set, name, destination.Service}, to: destination,
					}); !sent && n.pack(ctx, &p, vars, result.Templates) {
						due = append(due, p)
					}
				case sent && t.conditions[i].OncePer == "":
					c.remove = append(c.remove, note)
				}
			}
		}
	}
	n.send(ctx, c, due)
}

// facts judges a rollout by what the watches know.
func (n *Notifier) facts(set *argocd.ApplicationSet) *facts {
	uid := types.UID(set.UID)
	s := n.preview.Settings(set)
	f := &facts{
		set: set, r: n.judge(set), enforced: s.Mode == gate.Enforce && !s.Bypassed,
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
		f.contents = append(f.contents, p.Content)
		if last := &p.Application.LastOperation; last.Full && last.AtCompared &&
			(last.Phase == "Failed" || last.Phase == "Error") {
			f.failures[p.Name] = last.Phase
		}
	}
	return f
}

// about is what a problem is about. Everything may be missing.
type about struct {
	set              *argocd.ApplicationSet
	trigger, service string
}

const (
	// sayAgain is how often the same problem is logged, and posted as an Event.
	sayAgain = time.Hour
	// forgetAfter is after how long a message that has failed, and is not due any more, is forgotten.
	forgetAfter = 2 * maxWait
)

// problem counts something that keeps people from being told, and says it: once in an hour in the log, and on the
// ApplicationSet.
func (n *Notifier) problem(ctx context.Context, a about, result string, err error) {
	n.Observer.NotificationDone(a.trigger, n.serviceLabel(a.service), result)
	text, now := n.redact.Load().text(err.Error()), n.Clock.Now()
	name := types.NamespacedName{}
	if a.set != nil {
		name = types.NamespacedName{Namespace: a.set.Namespace, Name: a.set.Name}
	}
	key := name.String() + " " + result + " " + text
	if at, said := n.said[key]; said && now.Sub(at) < sayAgain {
		return
	}
	n.said[key] = now
	values := []any{"problem", text, "result", result}
	if a.set != nil {
		values = append(values, "applicationset", name.String(), "trigger", a.trigger,
			"service", policy.ClientText(a.service))
		n.Poster.Notify(ctx, name, types.UID(a.set.UID), "stepgate could not send a notification: "+text)
	}
	logr.FromContextOrDiscard(ctx).Info("notifications", values...)
}

// serviceLabel keeps names out of the metric that only an annotation has.
func (n *Notifier) serviceLabel(service string) string {
	if n.settings == nil || n.settings.services[service] == nil {
		return ""
	}
	return service
}
