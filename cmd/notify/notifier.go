// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
	gate "github.com/stepgate/stepgate/webhook/settings"
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

var _ Known = (*cluster.Cache)(nil)

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
	// Evidence is what objects are known to say; nil if nobody looks at them.
	Evidence judge.Evidence
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
	// judge tells where a rollout is, and by which settings.
	judge func(set *argocd.ApplicationSet) (*rollout.Rollout, gate.Settings)

	mu      sync.Mutex
	changed map[types.NamespacedName]bool

	settings   *settings
	settingsAt time.Time
	// versions are the resource versions of the ConfigMap and the Secret that the settings were made from.
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
	preview := webhook.NewPreview(o.Config, judge.Dependencies{
		Live: rollout.NewEvaluator(o.Known), Known: o.Known, Histories: o.Known,
		Windows: judge.ProjectWindows{Known: o.Known}, Evidence: o.Evidence, Clock: o.Clock,
	}, nil)
	n := &Notifier{
		Options: o, changed: map[types.NamespacedName]bool{}, looked: map[types.UID]time.Time{},
		waits: map[types.UID]map[string]time.Time{}, tries: map[message]*try{}, said: map[string]time.Time{},
		post: newPost(o.Clock), redact: &atomic.Pointer[redactor]{},
	}
	n.redact.Store(&redactor{})
	n.judge = func(set *argocd.ApplicationSet) (*rollout.Rollout, gate.Settings) {
		ahead := preview.Outlook(set)
		return rollout.Judge(ahead), ahead.Settings
	}
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

// guarded does something of which a panic must not end the process: it answers Argo CD's UI as well.
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
