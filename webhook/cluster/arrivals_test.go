// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	fakewatch "k8s.io/client-go/tools/cache/testing"

	"github.com/stepgate/stepgate/policy"
)

// source is an API server that numbers its writes as etcd does.
type source struct {
	*fakewatch.FakeControllerSource
	version int
}

func (s *source) add(app *argo.Application)    { s.version++; s.Add(app) }
func (s *source) modify(app *argo.Application) { s.version++; s.Modify(app) }
func (s *source) delete(app *argo.Application) { s.version++; s.Delete(app) }
func (s *source) at() string                   { return strconv.Itoa(s.version) }

func running(t *testing.T, s *source) *Cache {
	t.Helper()
	c := NewCache(Source{s, fakewatch.NewFakeControllerSource()})
	go c.Run(t.Context())
	NewWithT(t).Eventually(c.Synced).Should(BeTrue())
	return c
}

// TestWhatIsReachedIsKnown writes Applications of many names, the barrier's last, and looks at the cache as soon as it
// has reached that write.
func TestWhatIsReachedIsKnown(t *testing.T) {
	g := NewWithT(t)
	s := &source{FakeControllerSource: fakewatch.NewFakeControllerSource()}
	s.add(watched("barrier", ""))
	c := running(t, s)
	for round := range 200 {
		state := health.HealthStatusCode(fmt.Sprint("state ", round))
		for i := range 5 {
			app := watched(fmt.Sprint("app-", i), "u1")
			app.Status.Health.Status = state
			if round == 0 {
				s.add(app)
			} else {
				s.modify(app)
			}
		}
		created := watched(fmt.Sprint("created-", round), "u1")
		created.Status.Health.Status = state
		s.add(created)
		if round > 0 {
			s.delete(watched(fmt.Sprint("created-", round-1), "u1"))
		}
		s.modify(watched("barrier", ""))
		g.Expect(c.Reached(t.Context(), s.at())).To(Succeed())
		known := c.Owned("u1")
		g.Expect(known).To(HaveLen(6))
		for _, p := range known {
			g.Expect(p.Application.Health).To(Equal(string(state)))
		}
	}
}

func TestAWatchThatIsSilentReachesNothing(t *testing.T) {
	g := NewWithT(t)
	s := &source{FakeControllerSource: fakewatch.NewFakeControllerSource()}
	s.add(watched("barrier", ""))
	c := running(t, s)
	g.Expect(c.Reached(t.Context(), s.at())).To(Succeed())
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	g.Expect(c.Reached(short, "2")).To(MatchError(context.DeadlineExceeded))
	g.Expect(c.Reached(t.Context(), "2")).To(MatchError(errSilent))
	g.Expect(c.Reached(t.Context(), "x")).NotTo(Succeed())
}

// TestAWatchThatIsSlowIsNotSilent: it gives others before the one that is waited for.
func TestAWatchThatIsSlowIsNotSilent(t *testing.T) {
	g := NewWithT(t)
	s := &source{FakeControllerSource: fakewatch.NewFakeControllerSource()}
	s.add(watched("barrier", ""))
	c := running(t, s)
	const others = 6
	go func() {
		for range others {
			<-time.After(watchSilence / 3)
			s.modify(watched("barrier", ""))
		}
	}()
	g.Expect(c.Reached(t.Context(), strconv.Itoa(1+others))).To(Succeed())
}

func TestSeveralWatchesHaveNoOrder(t *testing.T) {
	g := NewWithT(t)
	one, other := fakewatch.NewFakeControllerSource(), fakewatch.NewFakeControllerSource()
	one.Add(watched("barrier", ""))
	c := NewCache(Source{one, fakewatch.NewFakeControllerSource()}, Source{other, fakewatch.NewFakeControllerSource()})
	g.Expect(NewCache(Source{one, other}).Newest()).To(BeEmpty(), "before the first list")
	go c.Run(t.Context())
	g.Eventually(c.Synced).Should(BeTrue())
	g.Expect(c.Newest()).To(BeEmpty())
	g.Expect(c.Reached(t.Context(), "1")).To(MatchError(ContainSubstring("does not tell")))
}

// listing counts the LISTs, which give nothing.
type listing struct {
	Live
	lists int
}

// Versions lists.
func (l *listing) Versions(context.Context, string, labels.Selector) ([]Version, error) {
	l.lists++
	return nil, nil
}

// TestNobodyListsWhenHisTimeIsOver: a barrier was too slow for him, and so would a LIST be.
func TestNobodyListsWhenHisTimeIsOver(t *testing.T) {
	g := NewWithT(t)
	s := &source{FakeControllerSource: fakewatch.NewFakeControllerSource()}
	for i := range ShortList + 1 {
		s.add(watched(fmt.Sprint("app-", i), "u1"))
	}
	c, live := running(t, s), &listing{}
	b, _ := newBarrier(&barrierObject{versions: []string{"1000"}, took: time.Second}, arriving{s.at(), nil})
	r := NewReader(live, c).WithBarrier(b, c.Count)
	set := &policy.ApplicationSet{Namespace: "argocd", Name: "set", UID: "u1", Steps: []policy.Step{{}}}
	for _, read := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := r.Current(ctx, set, 0, nil); return err },
		func(ctx context.Context) error { _, err := r.Members(ctx, set); return err },
	} {
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		g.Expect(read(short)).To(MatchError(context.DeadlineExceeded))
		cancel()
	}
	g.Expect(live.lists).To(BeZero())
}

// TestManySiblingsAreProvenByABarrier has siblings in the first of two steps, and in the last one of another namespace
// with a forged owner.
func TestManySiblingsAreProvenByABarrier(t *testing.T) {
	for it, row := range map[string]struct {
		siblings           int
		others             int // of another ApplicationSet, in the same namespace
		broken             error
		wantWrites, wantIt int
		wantLists          int
	}{
		"few are listed":  {siblings: ShortList - 1, wantLists: 1},
		"many are proven": {siblings: ShortList, wantWrites: 1, wantIt: ShortList + 1},
		"few in a large namespace are proven, too": {siblings: 1, others: ShortList - 1, wantWrites: 1, wantIt: 2},
		"listed where the barrier has failed":      {siblings: ShortList, broken: context.DeadlineExceeded, wantWrites: 1, wantLists: 1},
	} {
		t.Run(it, func(t *testing.T) {
			g := NewWithT(t)
			s := &source{FakeControllerSource: fakewatch.NewFakeControllerSource()}
			for i := range row.siblings + row.others {
				owner := types.UID("u1")
				if i >= row.siblings {
					owner = "u2"
				}
				app := watched(fmt.Sprint("app-", i), owner)
				app.Labels["env"] = "dev"
				s.add(app)
			}
			forged := watched("forged", "u1")
			forged.Namespace = "other"
			s.add(forged)
			s.add(watched("last", "u1"))
			c := running(t, s)
			step := policy.Step{{Key: "env", Operator: "In", Values: []string{"dev"}}}
			set := &policy.ApplicationSet{Namespace: "argocd", Name: "set", UID: "u1", Steps: []policy.Step{step, {}}}
			written := strconv.Itoa(s.version + 1)
			for _, read := range []func(*Reader) (int, error){
				func(r *Reader) (int, error) {
					current, err := r.Current(t.Context(), set, 1, nil)
					return len(current), err
				},
				func(r *Reader) (int, error) {
					members, err := r.Members(t.Context(), set)
					return len(members), err
				},
			} {
				object, live := &barrierObject{versions: []string{written}, err: row.broken}, &listing{}
				b, _ := newBarrier(object, arriving{s.at(), map[string]time.Duration{written: 0}})
				found, err := read(NewReader(live, c).WithBarrier(b, c.Count))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(found).To(Equal(row.wantIt))
				g.Expect(object.began).To(HaveLen(row.wantWrites))
				g.Expect(live.lists).To(Equal(row.wantLists))
			}
		})
	}
}
