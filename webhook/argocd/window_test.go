// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"testing"
	"testing/synctest"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// bubble is when the time of a bubble of testing/synctest begins: midnight in UTC, a Saturday in winter.
var bubble = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// later waits until a moment of the bubble's time.
func later(t time.Time) { <-time.After(time.Until(t)) }

// everywhere makes a window that matches every Application.
func everywhere(kind, schedule, duration string) *argo.SyncWindow {
	return &argo.SyncWindow{Kind: kind, Schedule: schedule, Duration: duration, Applications: []string{"*"}}
}

func manually(w *argo.SyncWindow) *argo.SyncWindow {
	w.ManualSync = true
	return w
}

func in(zone string, w *argo.SyncWindow) *argo.SyncWindow {
	w.TimeZone = zone
	return w
}

// moment is one of the first days of the bubble.
func moment(day, hour, minute, second int) time.Time {
	return time.Date(2000, 1, day, hour, minute, second, 0, time.UTC)
}

func TestWindowOf(t *testing.T) {
	office := everywhere("allow", "0 8 * * *", "2h")
	night := everywhere("deny", "0 22 * * *", "10h")
	for it, row := range map[string]struct {
		windows argo.SyncWindows
		app     WindowSubject
		manual  bool
		now     time.Time
		want    policy.Window
	}{
		"no windows":                {now: moment(1, 0, 0, 0)},
		"a window of other apps":    {windows: argo.SyncWindows{{Kind: "deny", Schedule: "* * * * *", Duration: "1h", Applications: []string{"other-*"}}}, now: moment(1, 0, 0, 0)},
		"a window that has nothing": {windows: argo.SyncWindows{{Kind: "deny", Schedule: "* * * * *", Duration: "1h"}}, now: moment(1, 0, 0, 0)},
		"the window allows":         {windows: argo.SyncWindows{office}, now: moment(1, 9, 0, 0)},
		"the window does not allow yet": {windows: argo.SyncWindows{office}, now: moment(1, 7, 59, 30),
			want: policy.Window{Closed: true, OpensAt: moment(1, 8, 0, 1), Detail: `allow window "0 8 * * *" for 2h in UTC`}},
		"the window allows no longer": {windows: argo.SyncWindows{office}, now: moment(1, 10, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(2, 8, 0, 1), Detail: `allow window "0 8 * * *" for 2h in UTC`}},
		"the moment at which a window starts is not in it": {windows: argo.SyncWindows{office}, now: moment(1, 8, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 8, 0, 1), Detail: `allow window "0 8 * * *" for 2h in UTC`}},
		"of two that allow, the one that starts first": {windows: argo.SyncWindows{everywhere("allow", "0 12 * * *", "1h"), office}, now: moment(1, 7, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 8, 0, 1), Detail: `allow window "0 8 * * *" for 2h in UTC`}},
		"one of two allows": {windows: argo.SyncWindows{everywhere("allow", "0 12 * * *", "1h"), office}, now: moment(1, 9, 0, 0)},
		"the window denies": {windows: argo.SyncWindows{night}, now: moment(1, 23, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(2, 8, 0, 1), Detail: `deny window "0 22 * * *" for 10h in UTC`}},
		"the window denies later": {windows: argo.SyncWindows{night}, now: moment(1, 21, 0, 0)},
		"to deny wins over to allow": {windows: argo.SyncWindows{office, everywhere("deny", "30 8 * * *", "1h")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 9, 30, 1), Detail: `deny window "30 8 * * *" for 1h in UTC`}},
		"after the one that denies, none allows": {windows: argo.SyncWindows{office, everywhere("deny", "30 8 * * *", "2h")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(2, 8, 0, 1), Detail: `deny window "30 8 * * *" for 2h in UTC`}},
		"two that deny, one after the other": {windows: argo.SyncWindows{everywhere("deny", "0 8 * * *", "2h"), everywhere("deny", "0 9 * * *", "3h")}, now: moment(1, 9, 30, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 12, 0, 1), Detail: `deny window "0 8 * * *" for 2h in UTC and 1 more`}},
		"a manual sync may pass": {windows: argo.SyncWindows{manually(everywhere("deny", "0 8 * * *", "2h"))}, manual: true, now: moment(1, 9, 0, 0)},
		"an automated one may not": {windows: argo.SyncWindows{manually(everywhere("deny", "0 8 * * *", "2h"))}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 10, 0, 1), Detail: `deny window "0 8 * * *" for 2h in UTC`}},
		"a manual sync may pass one of two that deny": {
			windows: argo.SyncWindows{manually(everywhere("deny", "0 8 * * *", "4h")), everywhere("deny", "0 9 * * *", "2h")}, manual: true, now: moment(1, 9, 30, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 11, 0, 1), Detail: `deny window "0 9 * * *" for 2h in UTC`}},
		"a manual sync may pass where none allows": {windows: argo.SyncWindows{manually(everywhere("allow", "0 8 * * *", "2h"))}, manual: true, now: moment(1, 7, 0, 0)},
		"a manual sync may pass one of two that do not allow": {
			windows: argo.SyncWindows{manually(everywhere("allow", "0 8 * * *", "2h")), everywhere("allow", "0 9 * * *", "2h")}, manual: true, now: moment(1, 7, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 8, 0, 1), Detail: `allow window "0 8 * * *" for 2h in UTC`}},
		"in a time zone": {windows: argo.SyncWindows{in("Europe/Berlin", everywhere("deny", "0 8 * * *", "2h"))}, now: moment(1, 8, 30, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 9, 0, 1), Detail: `deny window "0 8 * * *" for 2h in Europe/Berlin`}},
		"in a time zone that is not of whole hours": {windows: argo.SyncWindows{in("Asia/Kathmandu", everywhere("allow", "0 8 * * *", "2h"))}, now: moment(1, 1, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 2, 15, 1), Detail: `allow window "0 8 * * *" for 2h in Asia/Kathmandu`}},
		"when the clocks change, between now and then": {windows: argo.SyncWindows{in("Europe/Berlin", everywhere("allow", "0 8 * * 0", "2h"))},
			now:  time.Date(2000, 3, 25, 12, 0, 0, 0, time.UTC),
			want: policy.Window{Closed: true, OpensAt: time.Date(2000, 3, 26, 6, 0, 1, 0, time.UTC), Detail: `allow window "0 8 * * 0" for 2h in Europe/Berlin`}},
		"when the clocks skip the start": {windows: argo.SyncWindows{in("Europe/Berlin", everywhere("allow", "30 2 * * 0", "2h"))},
			now:  time.Date(2000, 3, 26, 0, 0, 0, 0, time.UTC),
			want: policy.Window{Closed: true, OpensAt: time.Date(2000, 3, 26, 1, 0, 1, 0, time.UTC), Detail: `allow window "30 2 * * 0" for 2h in Europe/Berlin`}},
		"in a time zone that does not exist": {windows: argo.SyncWindows{in("Mars/Base", everywhere("deny", "0 8 * * *", "2h"))}, now: moment(1, 8, 30, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 10, 0, 1), Detail: `deny window "0 8 * * *" for 2h in UTC`}},
		"a schedule that cannot be read": {windows: argo.SyncWindows{office, everywhere("deny", "at noon", "2h")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, Detail: `deny window "at noon" for 2h in UTC cannot be read: expected exactly 5 fields, found 2: [at noon]`}},
		"a schedule at which the parser panics": {windows: argo.SyncWindows{everywhere("deny", "TZ=UTC", "2h")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, Detail: `deny window "TZ=UTC" for 2h in UTC cannot be read: this is no schedule`}},
		"a duration that cannot be read": {windows: argo.SyncWindows{everywhere("allow", "* * * * *", "a day")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, Detail: `allow window "* * * * *" for a day in UTC cannot be read: time: invalid duration "a day"`}},
		"a schedule of other apps that cannot be read": {windows: argo.SyncWindows{{Kind: "deny", Schedule: "at noon", Duration: "2h", Applications: []string{"other-*"}}}, now: moment(1, 9, 0, 0)},
		"it never opens": {windows: argo.SyncWindows{everywhere("deny", "* * * * *", "1h")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, Detail: `deny window "* * * * *" for 1h in UTC`}},
		"it opens at a time far away": {windows: argo.SyncWindows{everywhere("allow", "0 8 1 6 *", "1h")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, Detail: `allow window "0 8 1 6 *" for 1h in UTC`}},
		"on a day that does not exist, a window is active all the time": {windows: argo.SyncWindows{everywhere("deny", "0 8 30 2 *", "1h")}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, Detail: `deny window "0 8 30 2 *" for 1h in UTC`}},
		"a kind that Argo CD does not know": {windows: argo.SyncWindows{everywhere("Deny", "* * * * *", "1h")}, now: moment(1, 9, 0, 0)},
		"a kind that Argo CD does not know, where none allows": {windows: argo.SyncWindows{office, everywhere("Allow", "* * * * *", "1h")}, now: moment(1, 7, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 8, 0, 1), Detail: `allow window "0 8 * * *" for 2h in UTC`}},
		"by the cluster's name": {windows: argo.SyncWindows{{Kind: "deny", Schedule: "0 8 * * *", Duration: "2h", Clusters: []string{"prod-*"}}},
			app: WindowSubject{Name: "app", Cluster: "prod-1"}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 10, 0, 1), Detail: `deny window "0 8 * * *" for 2h in UTC`}},
		"by the cluster's server and the namespace": {
			windows: argo.SyncWindows{{Kind: "deny", Schedule: "0 8 * * *", Duration: "2h", Clusters: []string{"https://prod"}, Namespaces: []string{"shop"}, UseAndOperator: true}},
			app:     WindowSubject{Name: "app", Server: "https://prod", Namespace: "shop"}, now: moment(1, 9, 0, 0),
			want: policy.Window{Closed: true, OpensAt: moment(1, 10, 0, 1), Detail: `deny window "0 8 * * *" for 2h in UTC`}},
		"by the cluster's server, in another namespace": {
			windows: argo.SyncWindows{{Kind: "deny", Schedule: "0 8 * * *", Duration: "2h", Clusters: []string{"https://prod"}, Namespaces: []string{"shop"}, UseAndOperator: true}},
			app:     WindowSubject{Name: "app", Server: "https://prod", Namespace: "blog"}, now: moment(1, 9, 0, 0)},
	} {
		t.Run(it, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				later(row.now)
				NewWithT(t).Expect(WindowOf(row.windows, row.app, !row.manual, time.Now())).To(Equal(row.want))
			})
		})
	}
}

// The text names the window, and not how long it lasts yet.
func TestTheDetailDoesNotCountDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, windows := NewWithT(t), argo.SyncWindows{everywhere("allow", "0 8 * * *", "2h")}
		first := WindowOf(windows, WindowSubject{}, true, time.Now())
		later(moment(1, 7, 59, 59))
		g.Expect(WindowOf(windows, WindowSubject{}, true, time.Now())).To(Equal(first))
	})
}

func TestSyncWindowsKeepsWhatDecides(t *testing.T) {
	g := NewWithT(t)
	project := &argo.AppProject{Spec: argo.AppProjectSpec{SyncWindows: argo.SyncWindows{
		{Kind: "deny", Schedule: "0 8 * * *", Duration: "2h", Applications: []string{"a"}, Namespaces: []string{"n"}, Clusters: []string{"c"},
			ManualSync: true, TimeZone: "Europe/Berlin", UseAndOperator: true, SyncOverrun: true, Description: "TICKET-1"},
		nil,
		{Kind: "allow", TimeZone: "Mars/Base"},
	}}}
	before := project.DeepCopy()
	g.Expect(SyncWindows(project)).To(Equal(argo.SyncWindows{
		{Kind: "deny", Schedule: "0 8 * * *", Duration: "2h", Applications: []string{"a"}, Namespaces: []string{"n"}, Clusters: []string{"c"},
			ManualSync: true, TimeZone: "Europe/Berlin", UseAndOperator: true, SyncOverrun: true},
		{Kind: "allow", TimeZone: "UTC"},
	}))
	g.Expect(project).To(Equal(before), "the informer's object is not changed")
	g.Expect(SyncWindows(&argo.AppProject{})).To(BeNil())
}

// An Application of a watch and one of an admission request have the same subject and project.
func TestTheSubjectOfAWindow(t *testing.T) {
	for it, row := range map[string]struct {
		json        string
		want        WindowSubject
		wantProject string
	}{
		"by server": {`{"metadata":{"name":"a"},"spec":{"project":"shop","destination":{"server":"https://prod","namespace":"n"}}}`,
			WindowSubject{Name: "a", Server: "https://prod", Namespace: "n"}, "shop"},
		"by name, of the default project": {`{"metadata":{"name":"a"},"spec":{"destination":{"name":"prod","namespace":"n"}}}`,
			WindowSubject{Name: "a", Cluster: "prod", Namespace: "n"}, "default"},
	} {
		t.Run(it, func(t *testing.T) {
			g := NewWithT(t)
			written, err := Decode([]byte(row.json))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(written.WindowSubject()).To(Equal(row.want))
			g.Expect(written.Project()).To(Equal(row.wantProject))
			whole := &argo.Application{}
			g.Expect(decode([]byte(row.json), whole)).To(Succeed())
			g.Expect(WindowSubjectOf(whole)).To(Equal(row.want))
			g.Expect(ProjectOf(whole)).To(Equal(row.wantProject))
		})
	}
}
