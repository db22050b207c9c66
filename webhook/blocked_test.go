package webhook

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// watched is a Known: by owner, and then by Application.
type watched map[types.UID]map[types.UID]policy.Application

func (w watched) Owned(owner types.UID) []*siblings.Projection {
	var all []*siblings.Projection
	for uid, app := range w[owner] {
		all = append(all, &siblings.Projection{ObjectMeta: metav1.ObjectMeta{UID: uid}, Application: app})
	}
	return all
}

// denial is a denied sync of an Application of an ApplicationSet.
func denial(set, app string) (*write, verdict) {
	w := &write{uid: types.UID(app), owners: []metav1.OwnerReference{{UID: types.UID(set)}}}
	return w, verdict{settings: settings{mode: Enforce}, Decision: policy.Decision{Blockers: []policy.Blocker{{Application: "dev"}}}}
}

// An ApplicationSet is blocked from the first denial on until its Application is known to have got through, or nobody
// has asked for a while.
func TestBlockedSince(t *testing.T) {
	const set, app = types.UID("set"), types.UID("app")
	for name, tc := range map[string]struct {
		write   func(*write, *verdict)
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
		"audit mode":                        {write: func(_ *write, v *verdict) { v.settings.mode = Audit }, known: &policy.Application{}},
		"an allow":                          {write: func(_ *write, v *verdict) { v.Outcome = policy.Allow }, known: &policy.Application{}},
		"it has been synced already":        {write: func(_ *write, v *verdict) { v.Decision = policy.Decision{Reason: policy.AlreadySynced} }, known: &policy.Application{}},
		"no decision":                       {write: func(_ *write, v *verdict) { v.err = errRead }, known: &policy.Application{}},
		"an Application that is not stored": {write: func(w *write, _ *verdict) { w.uid = "" }, known: &policy.Application{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := noon.Add(500 * time.Millisecond)
			known := watched{set: {}}
			if tc.known != nil {
				known[set][app] = *tc.known
			}
			b := NewBlocked(known, func() time.Time { return now })
			w, v := denial(string(set), string(app))
			if tc.write != nil {
				tc.write(w, &v)
			}
			b.note(w, v)
			now = now.Add(tc.after)
			if tc.after < 0 {
				for range 3 {
					now = now.Add(15 * time.Minute)
					b.note(w, v)
				}
			}
			g.Expect(testutil.CollectAndCount(b, "stepgate_applicationset_blocked_since_timestamp_seconds")).To(Equal(map[bool]int{true: 1}[tc.blocked]))
			if tc.blocked {
				g.Expect(testutil.ToFloat64(b)).To(Equal(float64(noon.Unix())))
			}
		})
	}
}

// The metric shows the oldest, and what is remembered is bounded: the newest are left out.
func TestBlockedKeepsTheOldest(t *testing.T) {
	g := NewWithT(t)
	now := noon
	known := watched{"set": {}}
	b := NewBlocked(known, func() time.Time { return now })
	for i := range 3 * mostWaiting {
		now = now.Add(time.Millisecond)
		app := fmt.Sprint("app-", i)
		known["set"][types.UID(app)] = policy.Application{}
		b.note(denial("set", app))
	}
	g.Expect(b.waiting).To(HaveLen(mostWaiting))
	g.Expect(testutil.ToFloat64(b)).To(Equal(float64(noon.Unix())))
	delete(known["set"], "app-0")
	known["set"]["app-1"] = policy.Application{OperationSet: true}
	g.Expect(testutil.ToFloat64(b)).To(Equal(float64(noon.Unix())))
	b.note(denial("set", "late"))
	g.Expect(b.waiting).To(HaveLen(mostWaiting-1), "two have gone, and one has come")
}
