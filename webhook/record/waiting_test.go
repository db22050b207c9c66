// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// noon is the clock of every test.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// watched is a Known: by owner, and then by Application.
type watched map[types.UID]map[types.UID]policy.Application

func (w watched) Owned(owner types.UID) []*argocd.Projection {
	var all []*argocd.Projection
	for uid, app := range w[owner] {
		all = append(all, &argocd.Projection{ObjectMeta: metav1.ObjectMeta{UID: uid}, Application: app})
	}
	return all
}

// denial is a denied sync of an Application of an ApplicationSet.
func denial(set, app string) (*judge.Write, judge.Verdict) {
	return &judge.Write{UID: types.UID(app)}, judge.Verdict{
		Set:      &argocd.ApplicationSet{ApplicationSet: policy.ApplicationSet{UID: set}},
		Settings: settings.Settings{Mode: settings.Enforce}, Decision: policy.Decision{Blockers: []policy.Blocker{{Application: "dev"}}},
	}
}

// An ApplicationSet is blocked from the first denial on until its Application is known to have got through, or nobody
// has asked for a while.
func TestBlockedSince(t *testing.T) {
	const set, app = types.UID("set"), types.UID("app")
	for name, tc := range map[string]struct {
		write   func(*judge.Write, *judge.Verdict)
		known   *policy.Application
		after   time.Duration
		blocked bool
	}{
		"a denial":                          {known: &policy.Application{}, blocked: true},
		"half an hour after, asked again":   {known: &policy.Application{}, after: -1, blocked: true},
		"nobody asked again":                {known: &policy.Application{}, after: 21 * time.Minute},
		"not long enough to forget":         {known: &policy.Application{}, after: 19 * time.Minute, blocked: true},
		"it waits for its sync":             {known: &policy.Application{OperationSet: true}},
		"it syncs":                          {known: &policy.Application{LastOperation: policy.LastOperation{Phase: "Running"}}},
		"it has synced":                     {known: &policy.Application{LastOperation: policy.LastOperation{Phase: "Succeeded", FinishedAt: noon}}},
		"it had synced before":              {known: &policy.Application{LastOperation: policy.LastOperation{Phase: "Succeeded", FinishedAt: noon.Add(-time.Second)}}, blocked: true},
		"it is gone":                        {known: nil},
		"audit mode":                        {write: func(_ *judge.Write, v *judge.Verdict) { v.Settings.Mode = settings.Audit }, known: &policy.Application{}},
		"an allow":                          {write: func(_ *judge.Write, v *judge.Verdict) { v.Outcome = policy.Allow }, known: &policy.Application{}},
		"it has been synced already":        {write: func(_ *judge.Write, v *judge.Verdict) { v.Decision = policy.Decision{Reason: policy.AlreadySynced} }, known: &policy.Application{}},
		"no decision":                       {write: func(_ *judge.Write, v *judge.Verdict) { v.Err = errors.New("read") }, known: &policy.Application{}},
		"an Application that is not stored": {write: func(w *judge.Write, _ *judge.Verdict) { w.UID = "" }, known: &policy.Application{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at := clocktesting.NewFakeClock(noon.Add(500 * time.Millisecond))
			known := watched{set: {}}
			if tc.known != nil {
				known[set][app] = *tc.known
			}
			b := NewWaiting(known, at)
			w, v := denial(string(set), string(app))
			if tc.write != nil {
				tc.write(w, &v)
			}
			b.note(w, v)
			at.Step(tc.after)
			if tc.after < 0 {
				for range 3 {
					at.Step(15 * time.Minute)
					b.note(w, v)
				}
			}
			g.Expect(testutil.CollectAndCount(b,
				"stepgate_applicationset_blocked_since_timestamp_seconds")).To(Equal(map[bool]int{true: 1}[tc.blocked]))
			if tc.blocked {
				g.Expect(testutil.ToFloat64(b)).To(Equal(float64(noon.Unix())))
			}
		})
	}
}

// TestBlockedIsBounded lets far more Applications wait than are remembered: the metric shows the oldest of those that
// are.
func TestBlockedIsBounded(t *testing.T) {
	g := NewWithT(t)
	at := clocktesting.NewFakeClock(noon)
	known := watched{"set": {}}
	b := NewWaiting(known, at)
	for i := range 2 * mostWaiting {
		at.SetTime(noon.Add(time.Duration(i/mostWaiting) * time.Minute))
		app := fmt.Sprint("app-", i)
		known["set"][types.UID(app)] = policy.Application{}
		b.note(denial("set", app))
	}
	g.Expect(b.waiting.Keys()).To(HaveLen(mostWaiting))
	g.Expect(testutil.ToFloat64(b)).To(Equal(float64(noon.Add(time.Minute).Unix())))
	known["set"]["app-19999"] = policy.Application{OperationSet: true}
	delete(known["set"], "app-19998")
	g.Expect(testutil.ToFloat64(b)).To(Equal(float64(noon.Add(time.Minute).Unix())))
	g.Expect(b.waiting.Keys()).To(HaveLen(mostWaiting-2), "one has got through, and one is gone")
}

// TestBlockedForgetsWithoutScrapes lets prod wait, and others that are long gone. Nobody collects the metrics.
func TestBlockedForgetsWithoutScrapes(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after int           // others that are denied before prod, and after it
		again         bool          // prod is denied once more, after half of the others after it
		pass          time.Duration // after all this
		want          bool
	}{
		"nobody else waits":                            {want: true},
		"as many wait already as are remembered":       {before: mostWaiting, want: true},
		"far more wait already":                        {before: 2 * mostWaiting, want: true},
		"as many wait after it as are remembered":      {after: mostWaiting},
		"they do, and meanwhile it was asked for":      {after: mostWaiting, again: true, want: true},
		"nobody has asked for it for 19 minutes":       {pass: forgetAfter - time.Minute, want: true},
		"nobody has asked for it for 21 minutes":       {pass: forgetAfter + time.Minute},
		"nobody has asked for anything for 21 minutes": {before: mostWaiting, pass: forgetAfter + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at := clocktesting.NewFakeClock(noon)
			b := NewWaiting(watched{}, at)
			for i := range tc.before {
				b.note(denial("set", fmt.Sprint("before-", i)))
			}
			b.note(denial("set", "prod"))
			for i := range tc.after {
				if tc.again && i == tc.after/2 {
					b.note(denial("set", "prod"))
				}
				b.note(denial("set", fmt.Sprint("after-", i)))
			}
			at.Step(tc.pass)
			g.Expect(b.Waits("prod")).To(Equal(tc.want))
			g.Expect(len(b.waiting.Keys())).To(BeNumerically("<=", mostWaiting))
		})
	}
}
