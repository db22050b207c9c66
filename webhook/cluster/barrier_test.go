// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
)

// barrierObject is the API server with the barrier's Application.
type barrierObject struct {
	metadata.ResourceInterface
	mu       sync.Mutex
	versions []string // of the writes; the last one stays
	lost     bool     // somebody takes the annotation away
	err      error
	took     time.Duration
	began    []time.Time
}

// Patch writes it.
func (o *barrierObject) Patch(
	ctx context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string,
) (*metav1.PartialObjectMetadata, error) {
	o.mu.Lock()
	o.began = append(o.began, time.Now())
	version := o.versions[0]
	if len(o.versions) > 1 {
		o.versions = o.versions[1:]
	}
	o.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(o.took):
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(patch, &object); err != nil || o.err != nil {
		return nil, errors.Join(err, o.err)
	}
	if o.lost {
		object.Annotations = nil
	}
	object.Name, object.ResourceVersion = name, version
	return &object, nil
}

// arriving is a watch that gets to a version after some time.
type arriving struct {
	newest  string
	reached map[string]time.Duration
}

// Newest is where it is.
func (a arriving) Newest() string { return a.newest }

// Lending knows of none.
func (a arriving) Lending(string, types.UID) []types.NamespacedName { return nil }

// Reached waits.
func (a arriving) Reached(ctx context.Context, version string) error {
	after, known := a.reached[version]
	if !known {
		after = time.Hour
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(after):
		return nil
	}
}

// readsSeen keeps the reads that were reported.
type readsSeen struct {
	mu     sync.Mutex
	failed []bool
}

// ReadDone keeps one.
func (r *readsSeen) ReadDone(_ string, _ time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err != nil)
}

func newBarrier(object *barrierObject, watch Watch) (*Barrier, *readsSeen) {
	seen := &readsSeen{}
	return &Barrier{
		objects: object, name: "barrier", watch: watch, observe: seen, writes: newBatches[struct{}](), clock: clock.RealClock{},
	}, seen
}

func TestABarrierSaysOnlyWhatIsProven(t *testing.T) {
	soon := map[string]time.Duration{"101": 10 * time.Millisecond}
	for it, row := range map[string]struct {
		object    *barrierObject
		watch     arriving
		wantError string
		wantTook  time.Duration
	}{
		"the watch gives the write":                      {object: &barrierObject{versions: []string{"101"}}, watch: arriving{"99", soon}, wantTook: 10 * time.Millisecond},
		"the watch gives it late":                        {object: &barrierObject{versions: []string{"103"}}, watch: arriving{"99", map[string]time.Duration{"103": 9 * time.Second}}, wantTook: 9 * time.Second},
		"the watch gives others only":                    {object: &barrierObject{versions: []string{"102"}}, watch: arriving{"99", soon}, wantError: "the watch does not give the write", wantTook: barrierTimeout},
		"the write takes long":                           {object: &barrierObject{versions: []string{"101"}, took: 9 * time.Second}, watch: arriving{"99", soon}, wantTook: 9*time.Second + 10*time.Millisecond},
		"the write takes too long":                       {object: &barrierObject{versions: []string{"101"}, took: time.Minute}, watch: arriving{"99", soon}, wantError: "deadline exceeded", wantTook: barrierTimeout},
		"the write is refused":                           {object: &barrierObject{versions: []string{"101"}, err: errors.New("forbidden")}, watch: arriving{"99", soon}, wantError: "forbidden"},
		"nothing was changed: an older write's version":  {object: &barrierObject{versions: []string{"101"}, lost: true}, watch: arriving{"99", soon}, wantError: "is not what was written"},
		"the watch is ahead: etcd was restored":          {object: &barrierObject{versions: []string{"101"}}, watch: arriving{"1000", soon}, wantError: "resourceVersion 101 was written after 1000"},
		"the watch has seen this version before":         {object: &barrierObject{versions: []string{"101"}}, watch: arriving{"101", soon}, wantError: "was written after"},
		"the watch does not tell how far it has come":    {object: &barrierObject{versions: []string{"101"}}, watch: arriving{"", soon}, wantError: "how far the watch has come is not known"},
		"the resourceVersions have no order in this API": {object: &barrierObject{versions: []string{"abc"}}, watch: arriving{"99", soon}, wantError: "not well formed"},
	} {
		t.Run(it, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b, seen := newBarrier(row.object, row.watch)
				start := time.Now()
				err := b.Pass(t.Context())
				if row.wantError == "" {
					g.Expect(err).NotTo(HaveOccurred())
				} else {
					g.Expect(err).To(MatchError(ContainSubstring(row.wantError)))
				}
				g.Expect(time.Since(start)).To(Equal(row.wantTook))
				g.Expect(seen.failed).To(Equal([]bool{row.wantError != ""}))
			})
		})
	}
}

func TestABarrierThatHasFailedRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		object := &barrierObject{versions: []string{"101"}, err: errors.New("forbidden")}
		b, _ := newBarrier(object, arriving{"99", map[string]time.Duration{"101": 0}})
		g.Expect(b.Pass(t.Context())).NotTo(Succeed())
		object.err = nil
		<-time.After(barrierRest - time.Millisecond)
		g.Expect(b.Pass(t.Context())).To(MatchError(errResting))
		g.Expect(object.began).To(HaveLen(1))
		<-time.After(time.Millisecond)
		g.Expect(b.Pass(t.Context())).To(Succeed())
	})
}

// TestNobodySharesAWriteThatBeganBefore lets callers arrive one after the other, while writes are under way.
func TestNobodySharesAWriteThatBeganBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		object := &barrierObject{versions: []string{"101"}, took: 100 * time.Millisecond}
		b, _ := newBarrier(object, arriving{"99", map[string]time.Duration{"101": 0}})
		var done sync.WaitGroup
		var mu sync.Mutex
		var problems []string
		const callers = 50
		for i := range callers {
			done.Go(func() {
				<-time.After(time.Duration(i) * 7 * time.Millisecond)
				arrived := time.Now()
				err := b.Pass(t.Context())
				mu.Lock()
				defer mu.Unlock()
				fresh := 0
				object.mu.Lock()
				defer object.mu.Unlock()
				for _, began := range object.began {
					if !began.Before(arrived) && !began.Add(object.took).After(time.Now()) {
						fresh++
					}
				}
				if err != nil || fresh == 0 {
					problems = append(problems, fmt.Sprintf("caller %d: %v, %d writes while it waited", i, err, fresh))
				}
			})
		}
		done.Wait()
		g.Expect(problems).To(BeEmpty())
		g.Expect(len(object.began)).To(BeNumerically("<", callers/4), "callers share writes")
	})
}

// quiet is a watch that went silent.
type quiet struct{ newest string }

// Newest is where it is.
func (q *quiet) Newest() string { return q.newest }

// Reached ends at once.
func (q *quiet) Reached(context.Context, string) error { return errSilent }

// Lending knows of none.
func (q *quiet) Lending(string, types.UID) []types.NamespacedName { return nil }

// TestABarrierIsTriedAgainWhenTheWatchGivesWhatItOwes, and not only after its rest.
func TestABarrierIsTriedAgainWhenTheWatchGivesWhatItOwes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		object := &barrierObject{versions: []string{"101"}}
		silent := &quiet{newest: "99"}
		b, _ := newBarrier(object, silent)
		g.Expect(b.Pass(t.Context())).To(MatchError(errSilent))
		silent.newest = "100"
		g.Expect(b.Pass(t.Context())).To(MatchError(errResting))
		silent.newest = "101"
		g.Expect(b.Pass(t.Context())).To(MatchError(ContainSubstring("was written after 101")), "it is tried")
		g.Expect(b.Pass(t.Context())).To(MatchError(errResting), "it has failed otherwise since")
		g.Expect(object.began).To(HaveLen(2))
	})
}

// TestAWriteThatNobodyCanWaitForFailsTheBarrier: somebody else's webhook may take its time for each write. All callers give
// up before, and those after them have to list.
func TestAWriteThatNobodyCanWaitForFailsTheBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		object := &barrierObject{versions: []string{"101"}, took: time.Minute}
		b, _ := newBarrier(object, arriving{"99", map[string]time.Duration{"101": 0}})
		for _, want := range []error{context.DeadlineExceeded, context.DeadlineExceeded, errResting, errResting} {
			ctx, cancel := context.WithTimeout(t.Context(), barrierTimeout*4/10)
			g.Expect(b.Pass(ctx)).To(MatchError(want))
			cancel()
		}
		<-time.After(barrierTimeout) // the last write ends
		object.mu.Lock()
		defer object.mu.Unlock()
		g.Expect(object.began).To(HaveLen(mostInFlight))
	})
}

// TestACallerThatGivesUpFailsNoBarrier: that says nothing about the barrier.
func TestACallerThatGivesUpFailsNoBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		object := &barrierObject{versions: []string{"101"}, took: 100 * time.Millisecond}
		b, _ := newBarrier(object, arriving{"99", map[string]time.Duration{"101": 0}})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		g.Expect(b.Pass(short)).To(MatchError(context.DeadlineExceeded))
		synctest.Wait()
		g.Expect(b.Pass(t.Context())).To(Succeed())
	})
}
