// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// fake is an API server and the metrics: it remembers what was asked and what became of it.
type fake struct {
	mu      sync.Mutex
	err     error
	hang    bool
	asked   []string
	results map[string]int
	// others are the Applications of which somebody else requests a refresh.
	others []string
	// compared says that a comparison of every Application is seen after each request.
	compared bool
}

func (f *fake) Position() uint64 { return 7 }

func (f *fake) Compared(_ types.NamespacedName, position uint64) bool {
	return position == 7 && f.compared
}

func (f *fake) Requested(app types.NamespacedName, position uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return position == 7 && slices.Contains(f.others, app.Name)
}

func (f *fake) AskRefresh(ctx context.Context, app types.NamespacedName) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, app.Name)
	if f.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fake) AskRefreshAgain(ctx context.Context, app types.NamespacedName) error {
	return f.AskRefresh(ctx, types.NamespacedName{Name: app.Name + " again"})
}

func (f *fake) RefreshDone(result string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.results == nil {
		f.results = map[string]int{}
	}
	f.results[result]++
}

func (f *fake) asks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func (f *fake) became() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.results)
}

// trial runs a Queue in a bubble with a clock of its own.
func trial(t *testing.T, f *fake, run bool, body func(g *WithT, q *Queue)) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(f, f, f, clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if run {
			go q.Run(ctx)
		}
		body(NewWithT(t), q)
		synctest.Wait()
	})
}

// pass lets time pass on the bubble's clock.
func pass(d time.Duration) { <-time.After(d) }

func app(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: name}
}

// TestHowOften plays wishes for one Application: at a second, last compared at a second.
func TestHowOften(t *testing.T) {
	type wish struct{ at, comparedAt int }
	for name, tc := range map[string]struct {
		wishes  []wish
		wantAt  []int
		wantNot int
	}{
		"a denial that is repeated asks once":                       {wishes: []wish{{0, 0}, {1, 0}, {2, 0}, {27, 0}}, wantAt: []int{0}, wantNot: 3},
		"after the window it asks again":                            {wishes: []wish{{0, 0}, {30, 0}, {31, 0}}, wantAt: []int{0, 30}, wantNot: 1},
		"the Releaser asks again, whose first look took a second":   {wishes: []wish{{1, 0}, {30, 0}}, wantAt: []int{1, 30}},
		"an Application that was compared since is asked for again": {wishes: []wish{{0, 0}, {2, 1}, {3, 1}}, wantAt: []int{0, 2}, wantNot: 1},
		"one that no comparison helps is left alone after a while":  {wishes: []wish{{0, 0}, {2, 1}, {4, 3}, {6, 5}, {8, 7}, {32, 31}, {33, 32}}, wantAt: []int{0, 2, 4, 33}, wantNot: 3},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			var at []int
			trial(t, f, true, func(g *WithT, q *Queue) {
				start := time.Now()
				for _, w := range tc.wishes {
					pass(time.Until(start.Add(time.Duration(w.at) * time.Second)))
					q.Ask(app("dev"), "old", start.Add(time.Duration(w.comparedAt)*time.Second), 0)
					synctest.Wait()
					if len(f.asks()) > len(at) {
						at = append(at, w.at)
					}
				}
				g.Expect(at).To(Equal(tc.wantAt))
				g.Expect(f.became()[Requested]).To(Equal(len(tc.wantAt)))
				g.Expect(f.became()[Repeated]).To(Equal(tc.wantNot))
			})
		})
	}
}

// TestComparedInTheSameSecond asks again although the time of the last comparison is the same: another one was seen.
func TestComparedInTheSameSecond(t *testing.T) {
	f := &fake{compared: true}
	trial(t, f, true, func(g *WithT, q *Queue) {
		at := time.Now()
		for range 2 + mostAgain {
			q.Ask(app("dev"), "old", at, 0)
			synctest.Wait()
		}
		g.Expect(f.asks()).To(HaveLen(1 + mostAgain))
	})
}

func TestResults(t *testing.T) {
	applications := schema.GroupResource{Group: "argoproj.io", Resource: "applications"}
	for name, tc := range map[string]struct {
		fake *fake
		want string
	}{
		"it is asked":                  {&fake{}, Requested},
		"a hard refresh is under way":  {&fake{err: apierrors.NewConflict(applications, "dev", errors.New("argocd-server owns it"))}, Needless},
		"the Application is gone":      {&fake{err: apierrors.NewNotFound(applications, "dev")}, Needless},
		"an apply would create it":     {&fake{err: apierrors.NewInvalid(schema.GroupKind{}, "dev", nil)}, Needless},
		"the permission is missing":    {&fake{err: apierrors.NewForbidden(applications, "dev", errors.New("patch"))}, Failed},
		"the API server hangs":         {&fake{hang: true}, Failed},
		"the cause is wrapped, and is": {&fake{err: fmt.Errorf("annotate: %w", apierrors.NewConflict(applications, "dev", nil))}, Needless},
	} {
		t.Run(name, func(t *testing.T) {
			trial(t, tc.fake, true, func(g *WithT, q *Queue) {
				q.Ask(app("dev"), "old", time.Time{}, 0)
				pass(askTimeout + time.Second)
				synctest.Wait()
				g.Expect(tc.fake.became()).To(Equal(map[string]int{tc.want: 1}))
				// Whatever came of it, the window holds: a missing permission is no flood.
				q.Ask(app("dev"), "old", time.Time{}, 0)
				g.Expect(tc.fake.became()).To(Equal(map[string]int{tc.want: 1, Repeated: 1}))
			})
		})
	}
}

// TestAnotherReasonIsAnotherWish lets a second commit land at once: the Application is behind that one, too.
func TestAnotherReasonIsAnotherWish(t *testing.T) {
	f := &fake{}
	trial(t, f, true, func(g *WithT, q *Queue) {
		for _, why := range []string{"compared to a, not b", "compared to a, not b", "compared to a, not c"} {
			q.Ask(app("dev"), why, time.Time{}, 0)
		}
		synctest.Wait()
		g.Expect(f.became()).To(Equal(map[string]int{Requested: 2, Repeated: 1}))
	})
}

// TestAskAgain asks for what was overlooked beside the request itself.
func TestAskAgain(t *testing.T) {
	f := &fake{}
	trial(t, f, true, func(g *WithT, q *Queue) {
		q.Ask(app("dev"), "old", time.Time{}, 0)
		q.AskAgain(app("dev"), time.Time{})
		q.AskAgain(app("dev"), time.Time{})
		synctest.Wait()
		g.Expect(f.asks()).To(Equal([]string{"dev", "dev again"}))
		g.Expect(f.became()).To(Equal(map[string]int{Requested: 2, Repeated: 1}))
	})
}

// TestAskNeverWaits fills the queue while nothing takes from it.
func TestAskNeverWaits(t *testing.T) {
	f := &fake{}
	trial(t, f, false, func(g *WithT, q *Queue) {
		for i := range mostWaiting {
			q.Ask(app(fmt.Sprint("app-", i)), "old", time.Time{}, 0)
		}
		q.Ask(app("one-more"), "old", time.Time{}, 0)
		q.Ask(app("one-more"), "old", time.Time{}, 0)
		g.Expect(f.became()).To(Equal(map[string]int{Dropped: 2}), "what was dropped is not remembered as asked")
	})
}

// TestRate lets a thousand Applications be stale at once.
func TestRate(t *testing.T) {
	f := &fake{}
	trial(t, f, true, func(g *WithT, q *Queue) {
		for i := range 1000 {
			q.Ask(app(fmt.Sprintf("app-%04d", i)), "old", time.Time{}, 0)
		}
		synctest.Wait()
		g.Expect(len(f.asks())).To(Equal(burst))
		pass(10 * time.Second)
		synctest.Wait()
		g.Expect(len(f.asks())).To(Equal(burst + 10*int(asksPerSecond)))
		g.Expect(slices.IsSorted(f.asks())).To(BeTrue(), "in the order in which they were wanted")
	})
}

// TestOthersAsk lets another replica ask while a request waits in the queue. A request that was overlooked is repeated
// all the same.
func TestOthersAsk(t *testing.T) {
	f := &fake{others: []string{"theirs"}}
	trial(t, f, true, func(g *WithT, q *Queue) {
		for i := range burst + 1 {
			q.Ask(app(fmt.Sprint("app-", i)), "old", time.Time{}, 0)
		}
		q.Ask(app("theirs"), "old", time.Time{}, 0)
		q.AskAgain(app("theirs"), time.Time{})
		pass(time.Second)
		synctest.Wait()
		g.Expect(f.asks()).To(ContainElement("theirs again"))
		g.Expect(f.asks()).NotTo(ContainElement("theirs"))
		g.Expect(f.became()).To(Equal(map[string]int{Requested: burst + 2, Needless: 1}))
	})
}

// TestLater asks after a while. It is remembered at once.
func TestLater(t *testing.T) {
	f := &fake{}
	trial(t, f, true, func(g *WithT, q *Queue) {
		q.Ask(app("later"), "old", time.Time{}, time.Second)
		q.Ask(app("now"), "old", time.Time{}, 0)
		q.Ask(app("later"), "old", time.Time{}, time.Second)
		pass(time.Second - time.Millisecond)
		synctest.Wait()
		g.Expect(f.asks()).To(Equal([]string{"now"}))
		pass(time.Millisecond)
		synctest.Wait()
		g.Expect(f.asks()).To(Equal([]string{"now", "later"}))
		g.Expect(f.became()).To(Equal(map[string]int{Requested: 2, Repeated: 1}))
	})
}

// TestMemory bounds the remembered requests: the Applications of more than one window are forgotten.
func TestMemory(t *testing.T) {
	f := &fake{}
	trial(t, f, true, func(g *WithT, q *Queue) {
		for i := range 3 * mostWaiting {
			q.Ask(app(fmt.Sprint("app-", i)), "old", time.Time{}, 0)
			pass(100 * time.Millisecond)
		}
		g.Expect(len(q.requested.Keys())).To(BeNumerically("<=", mostWaiting))
	})
}
