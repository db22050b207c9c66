// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// long is an ApplicationSet with a long train: everything in step 1 has completed many commits, everything in step 2
// runs the first and waits, and nobody has approved anything.
type long struct {
	scenario.Watch
	set   *argocd.ApplicationSet
	owned []*argocd.Projection
	past  map[string]policy.Past
	asked atomic.Int64
	// other is the cluster of guestbook.
	other *scenario.Cluster
	// different says that what is around the sources of each that waits has changed at another moment.
	different bool
}

func newLong(siblings, waiting, commits int) *long {
	object := scenario.RollingSync("long", "1", "2")
	object.Annotations = map[string]string{settings.ApproveAnnotation: "all"}
	l := &long{set: argocd.NewApplicationSet(object), past: map[string]policy.Past{}}
	l.At = 5
	commit := func(i int) []policy.Source {
		return []policy.Source{{Key: "repo", Revision: fmt.Sprintf("%040d", i)}}
	}
	app := func(name, step string, i int) *argocd.Projection {
		app := scenario.App(name, step, "Healthy", "a")
		app.Labels["name"] = name
		p := argocd.NewProjection(app)
		p.Owner, p.AutoSync, p.Content.Around = types.UID(l.set.UID), true, "here"
		p.Application.Compared, p.Application.SyncStatus = commit(commits+2), "OutOfSync"
		p.Application.ReconciledAt = scenario.Noon.Add(time.Duration(i) * time.Second)
		p.Application.LastSync = policy.LastSync{SameSources: true, FinishedAt: scenario.Noon.Add(-time.Hour)}
		l.owned = append(l.owned, p)
		return p
	}
	for i := range siblings {
		p := app(fmt.Sprintf("dev-%04d", i), "1", i)
		p.Application.Health, p.Application.OperationSet = "Progressing", true
		var past policy.Past
		for n := range commits + 1 {
			past.Completions = append(past.Completions, policy.Completion{
				Sources: commit(n), Since: scenario.Noon.Add(time.Duration(n)*time.Minute - 10*time.Hour), Seen: p.Application.ReconciledAt,
			})
			p.Application.Ran = append(p.Application.Ran, commit(n)...)
		}
		l.past[p.Name] = past
	}
	for i := range waiting {
		app(fmt.Sprintf("prod-%04d", i), "2", i).Application.Ran = commit(0)
	}
	return l
}

func (l *long) Set(name types.NamespacedName) (*argocd.ApplicationSet, cluster.Version) {
	if name == guestbook {
		return scenario.Watched{Cluster: l.other}.Set(name)
	}
	return l.set, cluster.Version{}
}

func (l *long) Owned(owner types.UID) []*argocd.Projection {
	if owner == "guestbook-uid" {
		return scenario.Watched{Cluster: l.other}.Owned(owner)
	}
	return l.owned
}

func (l *long) Application(types.NamespacedName) *argocd.Projection { return nil }

func (l *long) History(*policy.ApplicationSet, uint64, uint64) policy.History {
	return policy.History{Of: func(name string) policy.Past {
		l.asked.Add(1)
		return l.past[name]
	}}
}

func (l *long) ContentSince(app types.UID, _ argocd.Content) (since time.Time, byAnother, ended bool) {
	n, _ := strconv.Atoi(strings.Trim(string(app), "prod-ui"))
	return scenario.Noon.Add(-11*time.Hour + time.Duration(n)*time.Second), false, false
}

func (l *long) Found(types.UID, time.Time) argocd.Content {
	if l.different {
		return argocd.Content{Around: "elsewhere"}
	}
	return argocd.Content{Around: "here"}
}

func (l *long) releaser(refresh Refresher) *Releaser {
	config, clock := scenario.Releasing(), clocktesting.NewFakeClock(scenario.Noon)
	config.Pin = settings.PinCandidate
	j := judge.New(config, judge.Dependencies{Histories: l, Clock: clock})
	return New(j, l, record.NewWaiting(l, clock), NewRequests(refresh, l, clock),
		func(time.Duration) time.Duration { return 0 })
}

// TestThoseThatAreAlikeAreJudgedOnce counts how often a look asks what was seen of an Application, while 20 wait for 20,
// on a train with 20 candidates.
func TestThoseThatAreAlikeAreJudgedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		different bool
		atMost    int64
	}{
		"they are alike": {atMost: 3 * 20 * 20},
		"they are not":   {different: true, atMost: 50 * 20 * 20},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			l := newLong(20, 20, 20)
			l.different = tc.different
			r := l.releaser(&scenario.Refreshes{})
			r.Reconcile(nameOfSet("long"))
			once := l.asked.Load()
			g.Expect(once).To(BeNumerically("<", tc.atMost))
			for _, p := range l.owned[20:] {
				g.Expect(r.waiting.Waits(p.UID)).To(BeTrue(), p.Name)
			}
		})
	}
}

// BenchmarkRelease is one look at an ApplicationSet of which 1,000 Applications wait for 1,000 others, on a train with 20
// candidates; and the release in another one, from the event on, while three such looks are under way all the time.
func BenchmarkRelease(b *testing.B) {
	for name, different := range map[string]bool{"alike": false, "different": true} {
		b.Run(name, func(b *testing.B) {
			l := newLong(1000, 1000, 20)
			l.different = different
			r := l.releaser(&scenario.Refreshes{})
			for b.Loop() {
				r.Reconcile(nameOfSet("long"))
			}
		})
	}
	b.Run("another meanwhile", benchmarkAnother)
}

// asks tells of every refresh.
type asks chan string

func (a asks) Ask(app types.NamespacedName, _ string, _ time.Time, _ time.Duration) { a <- app.Name }

func (asks) AskAgain(types.NamespacedName, time.Time) {}

func benchmarkAnother(b *testing.B) {
	l := newLong(1000, 1000, 20)
	l.other = scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(l.other, "prod")
	asked := make(asks, 10_000)
	r := l.releaser(asked)
	controller := NewController(r.Reconcile)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { controller.Run(ctx) })
	for i := range 3 {
		running.Go(func() {
			for ctx.Err() == nil {
				r.Reconcile(nameOfSet("long-" + strconv.Itoa(i)))
			}
		})
	}
	for b.Loop() {
		r.mu.Lock()
		delete(r.sets, guestbook) // its turn has just come
		r.mu.Unlock()
		controller.Changed(guestbook)
		for name := range asked {
			if name == "prod" {
				break
			}
		}
	}
	cancel()
	running.Wait()
}
