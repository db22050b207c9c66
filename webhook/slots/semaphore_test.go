// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
)

const (
	// attempts are made in all, in histories of one ApplicationSet each, by the workers of three replicas.
	attempts   = 100_000
	perHistory = 500
	replicas   = 3
	workers    = 3
	members    = 8
)

// step is an operation of a history: an Application asks for a slot, or needs it no more.
type step struct {
	app     int
	release bool
}

// semaphore is the model: a set of holders, of which there are at most so many. Only who holds a slot already, or finds
// one free, gets one. A denial needs another holder: not as many as there are slots, because a replica does not see all
// Applications at the same moment.
func semaphore(most int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return uint64(0) },
		Step: func(state, input, output any) (bool, any) {
			held, in := state.(uint64), input.(step)
			own := uint64(1) << in.app
			switch granted := output.(bool); {
			case in.release:
				return true, held &^ own
			case granted:
				return held&own != 0 || bits.OnesCount64(held) < most, held | own
			default:
				return held&^own != 0, held
			}
		},
	}
}

// crash is where a replica ends.
type crash int

const (
	nowhere crash = iota
	beforeRead
	beforeWrite
	afterWrite
)

var errCrashed = errors.New("the replica has ended")

// life is one call of a Store, in which the replica may end.
type life struct {
	at    crash
	wrote bool
}

type lifeKey struct{}

// mortal are Objects of a replica that may end.
type mortal struct{ Objects }

func (m mortal) Read(ctx context.Context, set types.UID) (Stored, error) {
	if ctx.Value(lifeKey{}).(*life).at == beforeRead {
		return Stored{}, errCrashed
	}
	return m.Objects.Read(ctx, set)
}

func (m mortal) Write(ctx context.Context, set types.UID, s Stored) error {
	l := ctx.Value(lifeKey{}).(*life)
	if l.at == beforeWrite {
		return errCrashed
	}
	err := m.Objects.Write(ctx, set, s)
	l.wrote = err == nil
	if l.wrote && l.at == afterWrite {
		return errCrashed
	}
	return err
}

// overwriting is an API server whose clients do not say what they have read: the negative control.
type overwriting struct{ *apiServer }

func (o overwriting) Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	object = object.DeepCopy()
	object.ResourceVersion = ""
	return o.apiServer.Update(ctx, object, options)
}

// rollout is what one history is made of.
type rollout struct {
	*family
	most   int
	stores []*Store
	clock  *clocktesting.FakeClock
	// requests is locked for writing while time passes: no write is under way then.
	requests sync.RWMutex
	// owned is locked by whoever syncs an Application.
	owned [members]sync.Mutex
	ticks atomic.Int64
	asked atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	// parked are Applications with a slot of which the operation was not stored.
	parked []int
	counts struct{ granted, denied, crashed, lost int }
}

func newRollout(most int, client ConfigMapClient) *rollout {
	var names []string
	for app := range members {
		names = append(names, nameOf(app))
	}
	r := &rollout{family: newFamily(names...), most: most, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0))}
	for range replicas {
		r.stores = append(r.stores, NewStore(mortal{ConfigMaps{client}}, r.family, clock.PassiveClock(r.clock)))
	}
	return r
}

func nameOf(app int) string { return fmt.Sprintf("app-%d", app) }

func (r *rollout) record(client int, s step, granted bool, call int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, porcupine.Operation{
		ClientId: client, Input: s, Output: granted, Call: call, Return: r.ticks.Add(1),
	})
}

// work lets one client of a replica sync Applications, until all clients have made so many attempts.
func (r *rollout) work(t *testing.T, client, attempts int, random *rand.Rand) {
	for r.asked.Load() < int64(attempts) {
		if app := random.IntN(members); r.owned[app].TryLock() {
			r.sync(t, client, app, random)
		} else if random.IntN(10) == 0 {
			r.timePasses(client)
		} else {
			r.makeUp(t, client, app, random)
		}
		runtime.Gosched()
	}
}

// sync has one Application synced, from the request to the end.
func (r *rollout) sync(t *testing.T, client, app int, random *rand.Rand) {
	name := nameOf(app)
	c := Claim{
		Set: guestbook("set", intstr.FromInt32(int32(r.most))), Application: name, UID: types.UID("uid-" + name),
		Version: r.versionOf(name),
	}
	c.Operation++
	// No time passes until it is known what becomes of the slot: it would be freed before the history says so.
	r.requests.RLock()
	defer r.requests.RUnlock()
	granted, held := r.ask(t, client, app, c, random)
	if granted && random.IntN(3) == 0 { // the other webhook is answered by another replica
		again, _ := r.ask(t, client+1, app, c, random)
		granted = granted && again
	}
	stored := granted && random.IntN(8) > 0 && r.family.stores(name, c.Version)
	switch {
	case stored:
		call := r.ticks.Add(1)
		r.change(name, func(a *policy.Application) { a.OperationSet = false })
		r.record(client, step{app, true}, true, call)
	case held && random.IntN(2) == 0: // somebody else changes the Application
		call := r.ticks.Add(1)
		r.change(name, func(*policy.Application) {})
		r.record(client, step{app, true}, true, call)
	case held:
		r.mu.Lock()
		r.parked = append(r.parked, app)
		r.mu.Unlock()
		return
	}
	r.owned[app].Unlock()
}

// makeUp asks about a write that no API server will store. The history does not have it: it takes no slot from anybody.
func (r *rollout) makeUp(t *testing.T, client, app int, random *rand.Rand) {
	name := nameOf(app)
	made := []Claim{
		{Application: "made-up", UID: "made-up", Version: "1"}, {Application: "created"},
		{Application: name, UID: "made-up", Version: r.versionOf(name)}, {Application: name, UID: types.UID("uid-" + name), Version: "0"},
	}
	c := made[random.IntN(len(made))]
	c.Set = guestbook("set", intstr.FromInt32(int32(r.most)))
	_, err := r.stores[client%replicas].Take(context.WithValue(t.Context(), lifeKey{}, &life{}), c)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// ask asks one replica for a slot. held says that one is taken, whether or not that was answered.
func (r *rollout) ask(t *testing.T, client, app int, c Claim, random *rand.Rand) (granted, held bool) {
	r.asked.Add(1)
	l := &life{}
	if random.IntN(8) == 0 {
		l.at = crash(1 + random.IntN(3))
	}
	call := r.ticks.Add(1)
	full, err := r.stores[client%replicas].Take(context.WithValue(t.Context(), lifeKey{}, l), c)
	granted = err == nil && full == nil
	switch {
	case granted || l.wrote:
		r.record(client, step{app, false}, true, call)
	case err == nil:
		r.record(client, step{app, false}, false, call)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, errCrashed):
		r.counts.crashed++
	case err != nil:
		r.counts.lost++
	case granted:
		r.counts.granted++
	default:
		r.counts.denied++
	}
	return granted, granted || l.wrote
}

// timePasses frees the slots of the writes that can be stored no more.
func (r *rollout) timePasses(client int) {
	r.requests.Lock()
	defer r.requests.Unlock()
	r.mu.Lock()
	parked := r.parked
	r.parked = nil
	r.mu.Unlock()
	call := r.ticks.Add(1)
	r.clock.Step(confirmedWithin)
	for _, app := range parked {
		r.record(client, step{app, true}, true, call)
		r.owned[app].Unlock()
	}
}

// play plays one history.
func (r *rollout) play(t *testing.T, attempts int, seed uint64) {
	var running sync.WaitGroup
	for client := range replicas * workers {
		running.Go(func() {
			r.work(t, client, attempts, rand.New(rand.NewPCG(seed, uint64(client))))
		})
	}
	running.Wait()
}

// TestASemaphore has three replicas ask for slots at once, and crash in every slot. Each history has to be one of a
// semaphore.
func TestASemaphore(t *testing.T) {
	g := NewWithT(t)
	histories := attempts / perHistory
	if testing.Short() {
		histories /= 10
	}
	total := 0
	var granted, denied, crashed int
	for seed := range histories {
		r := newRollout(1+seed%4, newAPIServer())
		r.play(t, perHistory, uint64(seed))
		g.Expect(porcupine.CheckOperationsTimeout(semaphore(r.most), r.history, time.Minute)).To(Equal(porcupine.Ok),
			"history %d, of %d slots", seed, r.most)
		g.Expect(r.counts.lost).To(BeZero(), "history %d", seed)
		total += int(r.asked.Load())
		granted, denied, crashed = granted+r.counts.granted, denied+r.counts.denied, crashed+r.counts.crashed
		r.timePasses(0)
		r.fills(t, g)
	}
	t.Logf("%d attempts in %d histories: %d granted, %d denied, %d crashed", total, histories, granted, denied, crashed)
	g.Expect(total).To(BeNumerically(">=", histories*perHistory))
	g.Expect(min(granted, denied, crashed)).To(BeNumerically(">", total/20))
}

// fills asks for slots one after the other when everything is done: there are exactly as many as maxUpdate says.
func (r *rollout) fills(t *testing.T, g *WithT) {
	for app := range members {
		name := nameOf(app)
		full, err := r.stores[app%replicas].Take(context.WithValue(t.Context(), lifeKey{}, &life{}), Claim{
			Set: guestbook("set", intstr.FromInt32(int32(r.most))), Application: name, UID: types.UID("uid-" + name),
			Version: r.versionOf(name),
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(full == nil).To(Equal(app < r.most), "slot %d of %d", app+1, r.most)
	}
}

// TestWithoutCompareAndSwap is the negative control: the check notices when an update does not say what it has read.
func TestWithoutCompareAndSwap(t *testing.T) {
	for seed := range 200 {
		r := newRollout(1+seed%4, overwriting{newAPIServer()})
		r.play(t, perHistory, uint64(seed))
		if porcupine.CheckOperationsTimeout(semaphore(r.most), r.history, time.Minute) == porcupine.Illegal {
			return
		}
	}
	t.Fatal("nobody noticed that slots were lost")
}
