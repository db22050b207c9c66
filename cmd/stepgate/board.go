// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
)

const (
	// connectionEvery is how often the dashboard asks whether the API server answers.
	connectionEvery = 5 * time.Second
	// settingsEvery is how often it reads how the gate is configured.
	settingsEvery = 30 * time.Second
	// rightsFor is how long an answer about rights counts, candidatesFor one of the gate about candidates, and evidenceFor
	// what objects say.
	rightsFor     = time.Minute
	candidatesFor = 5 * time.Second
	evidenceFor   = 5 * time.Second
	// mostNamespaces, mostAsked and mostGates bound what is kept of these answers.
	mostNamespaces = 1000
	mostAsked      = 1000
	mostGates      = 16
)

// board has the facts of the dashboard: what the watches know, judged as `stepgate get` does.
type board struct {
	*rollouts
	cmd      *cobra.Command
	shown    string
	gates    atomic.Pointer[gates]
	known    atomic.Pointer[cluster.Cache]
	argocd   atomic.Pointer[string]
	rights   *cache.LRUExpireCache
	asked    *cache.LRUExpireCache
	evidence *cache.LRUExpireCache
	mu       sync.Mutex
	changed  chan struct{}
	problem  string
	answered time.Time
}

func newBoard(ctx context.Context, cmd *cobra.Command, r *rollouts, namespace string) *board {
	b := &board{
		rollouts: r, cmd: cmd, shown: namespace, rights: cache.NewLRUExpireCache(mostNamespaces),
		asked: cache.NewLRUExpireCache(mostAsked), changed: make(chan struct{}), answered: time.Now(),
		evidence: cache.NewLRUExpireCache(mostGates),
	}
	found, _ := readGates(ctx, r.clients.Clientset, namespace) // where the settings are from says so
	b.gates.Store(found)
	b.readArgoCD(ctx)
	return b
}

// follow shows what the watches know, until ended returns an error. ready is called when they know something. Where the
// settings name another namespace of AppProjects, other watches begin.
func (b *board) follow(ctx context.Context, ended func() error, ready func()) error {
	for {
		gate := b.gate()
		namespaces, err := b.namespaces(ctx, b.shown, nil)
		if err != nil {
			return err
		}
		err = b.watch(ctx, namespaces, *gate, 0, func(known *cluster.Cache, _ bool) (bool, error) {
			if first := b.known.Swap(known) == nil; first {
				ready()
			}
			b.tell()
			return b.gate().projects != gate.projects, ended()
		})
		if err != nil {
			return err
		}
	}
}

// tell has everybody look again.
func (b *board) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changed implements dashboard.Facts.
func (b *board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Where implements dashboard.Facts.
func (b *board) Where() (kubeContext, namespace string) { return b.context(), b.shown }

// Problem implements dashboard.Facts.
func (b *board) Problem() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problem
}

// lookAtConnection asks the API server from time to time whether the user may still watch: watches that have broken try
// again for ever, and say nothing.
func (b *board) lookAtConnection(ctx context.Context) {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, connectionEvery)
		err := b.mayWatch(asking, b.shown)
		cancel()
		b.connected(err)
		select {
		case <-ctx.Done():
		case <-time.After(connectionEvery):
		}
	}
}

// lookAtSettings reads from time to time how the gate is configured.
func (b *board) lookAtSettings(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(settingsEvery):
			b.readSettings(ctx)
		}
	}
}

// gate is the installation of the namespace that is shown, or the first of all.
func (b *board) gate() *installed { return b.gates.Load().of(b.shown) }

// readSettings reads how the gate is configured. What is known stays if that cannot be read.
func (b *board) readSettings(ctx context.Context) {
	b.gates.Store(b.again(ctx, b.gates.Load(), b.shown))
	asking, cancel := context.WithTimeout(ctx, connectionEvery)
	defer cancel()
	b.readArgoCD(asking)
}

// readArgoCD reads the address of Argo CD's UI, where the user may, and it is one that a browser opens.
func (b *board) readArgoCD(ctx context.Context) {
	maps := b.clients.Clientset.CoreV1().ConfigMaps(b.gate().argocd)
	settings, err := maps.Get(ctx, "argocd-cm", metav1.GetOptions{})
	if err != nil {
		return
	}
	address := strings.TrimSuffix(settings.Data["url"], "/")
	if u, err := url.Parse(address); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		b.argocd.Store(&address)
	}
}

// ArgoCD implements dashboard.Facts.
func (b *board) ArgoCD() string { return ptr.Deref(b.argocd.Load(), "") }

func (b *board) connected(err error) {
	text := ""
	if err == nil {
		b.answered = time.Now()
	} else {
		text = "What is shown is of " + b.answered.UTC().Format(time.RFC3339) + ": " + b.explained(b.cmd, err).Error()
	}
	b.mu.Lock()
	same := b.problem == text
	b.problem = text
	b.mu.Unlock()
	if !same {
		b.tell()
	}
}

// Rollouts implements dashboard.Facts.
func (b *board) Rollouts() []*rollout.Rollout {
	known := b.known.Load()
	if known == nil {
		return nil
	}
	return rollout.Every(b.judged(known), known, false)
}

// judged judges with evidence that all views share.
func (b *board) judged(known *cluster.Cache) rollout.Previews {
	return b.previews(b.gates.Load(), known, b.found)
}

// found is what objects have said in the last seconds.
func (b *board) found(gate *installed) judge.Evidence {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.evidence.Get(gate)
	if !ok {
		found = b.asker(*gate)
		b.evidence.Add(gate, found, evidenceFor)
	}
	asker, _ := found.(judge.Evidence)
	return asker
}

// Rollout implements dashboard.Facts.
func (b *board) Rollout(ctx context.Context, name types.NamespacedName) *rollout.Rollout {
	known := b.known.Load()
	if known == nil {
		return nil
	}
	preview := b.judged(known)(name.Namespace)
	set, _ := known.Set(name)
	if set == nil {
		if p := known.Application(name); p != nil && p.FollowsAlone() {
			return rollout.JudgeAlone(preview, p)
		}
		return nil
	}
	r, problem := rollout.Judge(preview.Outlook(set)), ""
	r.AskGate(b.askSeldom(ctx, name.Namespace, &problem))
	if problem != "" {
		r.Problems = append(r.Problems, problem)
	}
	return r
}

// askSeldom is ask with answers of the last seconds.
func (b *board) askSeldom(ctx context.Context, namespace string, problem *string) rollout.Ask {
	type answer struct {
		candidates rollout.Candidates
		problem    string
	}
	return func(app string) rollout.Candidates {
		key := namespace + "/" + app
		if known, ok := b.asked.Get(key); ok {
			a, _ := known.(answer)
			*problem = cmp.Or(*problem, a.problem)
			return a.candidates
		}
		var a answer
		a.candidates, a.problem = b.candidates(ctx, types.NamespacedName{Namespace: namespace, Name: app})
		if ctx.Err() == nil {
			b.asked.Add(key, a, candidatesFor)
		}
		*problem = cmp.Or(*problem, a.problem)
		return a.candidates
	}
}

// Rights implements dashboard.Facts.
func (b *board) Rights(ctx context.Context, namespace string) dashboard.Rights {
	if known, ok := b.rights.Get(namespace); ok {
		rights, _ := known.(dashboard.Rights)
		return rights
	}
	annotate, err := b.may(ctx, "patch", "applicationsets", namespace)
	if err != nil {
		return dashboard.Rights{}
	}
	refresh, err := b.may(ctx, "patch", "applications", namespace)
	if err != nil {
		return dashboard.Rights{}
	}
	rights := dashboard.Rights{Annotate: annotate, Refresh: refresh}
	b.rights.Add(namespace, rights, rightsFor)
	return rights
}

// Explain implements dashboard.Facts.
func (b *board) Explain(ctx context.Context, app types.NamespacedName) (*dashboard.Explained, error) {
	x, err := (&explain{cli: b.cli}).explain(ctx, b.rollouts, app)
	if err != nil {
		return nil, b.explained(b.cmd, err)
	}
	return &dashboard.Explained{
		Explanation: x, Verdict: x.Verdict(), Lines: x.Lines(screen.Screen{Width: explainWidth}, time.Now()),
	}, nil
}

// explainWidth is the width of `stepgate explain` in the page, in columns.
const explainWidth = 80

// Timeline implements dashboard.Facts.
func (b *board) Timeline(ctx context.Context, name types.NamespacedName) ([]audit.Rollout, error) {
	collected, err := audit.Read(ctx, b.clients.Objects, name.Namespace, []string{name.Name})
	if err != nil {
		return nil, b.explained(b.cmd, err)
	}
	report := collected.Report(audit.Options{Now: time.Now()})
	if len(report.ApplicationSets) == 0 {
		return nil, nil // it has no steps
	}
	return report.ApplicationSets[0].Rollouts, nil
}

// History implements dashboard.Facts.
func (b *board) History(ctx context.Context, name types.NamespacedName) (*dashboard.History, error) {
	known := b.known.Load()
	if known == nil {
		return nil, nil
	}
	set, _ := known.Set(name)
	if set == nil {
		return nil, nil
	}
	gate := b.gates.Load().of(name.Namespace)
	log, err := gate.log(ctx, b.clients.Clientset, types.UID(set.UID))
	h, err := dashboard.HistoryOf(log, err, gate.namespace, metav1.Now())
	if err != nil {
		return nil, b.explained(b.cmd, err)
	}
	return h, nil
}

// texts are the lines of what a command has printed.
func texts(printed string) []string {
	return strings.Split(strings.TrimSpace(printed), "\n")
}
