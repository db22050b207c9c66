// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"errors"
	"fmt"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/robfig/cron/v3"
)

// window is a sync window that has been read.
type window struct {
	*argo.SyncWindow
	schedule cron.Schedule
	duration time.Duration
	zone     *time.Location
}

// openings are the windows of one Application, read.
type openings []window

// readWindows reads all windows, or says which one cannot be read and why.
func readWindows(windows argo.SyncWindows) (openings, error) {
	all := make(openings, 0, len(windows))
	for _, w := range windows {
		read, err := readWindow(w)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", read, err)
		}
		all = append(all, read)
	}
	return all, nil
}

func readWindow(of *argo.SyncWindow) (w window, err error) {
	w = window{SyncWindow: of, zone: time.UTC}
	if zone, unknown := time.LoadLocation(of.TimeZone); unknown == nil {
		w.zone = zone
	}
	defer func() {
		if recover() != nil { // the parser panics at a schedule such as TZ=UTC
			err = errors.New("this is no schedule")
		}
	}()
	if w.schedule, err = cron.NewParser(
		cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow,
	).Parse(of.Schedule); err != nil {
		return w, err
	}
	w.duration, err = time.ParseDuration(of.Duration)
	return w, err
}

// String names the window. It says nothing that changes with time.
func (w window) String() string {
	return fmt.Sprintf("%s window %q for %s in %s", w.Kind, w.Schedule, w.Duration, w.zone)
}

// local is a moment in the window's time zone, as a time in UTC: that is how argo-cd v3.5.7 reads the schedule
// (pkg/apis/application/v1alpha1/types.go, scheduleOffsetByTimeZone).
func (w window) local(t time.Time) time.Time {
	_, seconds := t.In(w.zone).Zone()
	return t.UTC().Add(time.Duration(seconds) * time.Second)
}

// active mirrors SyncWindows.active of argo-cd v3.5.7, pkg/apis/application/v1alpha1/types.go. A window is not active
// at the very moments at which it starts and ends. One whose schedule names no day that exists is always active.
func (w window) active(t time.Time) bool {
	local := w.local(t)
	return w.schedule.Next(local.Add(-w.duration)).Before(local)
}

// starts is when the window starts next after t, and ends is when it may end next; zero when never.
func (w window) starts(t time.Time) time.Time { return w.after(t, 0) }
func (w window) ends(t time.Time) time.Time   { return w.after(t, w.duration) }

// after is the first moment after t that is so much later than a start, as long as the offset of the time zone stays.
func (w window) after(t time.Time, later time.Duration) time.Time {
	local := w.local(t)
	start := w.schedule.Next(local.Add(-later))
	if start.IsZero() {
		return start
	}
	return t.Add(start.Add(later).Sub(local))
}

// next is the next moment after t at which the window may start or end; zero when there is none. When the offset of its
// time zone changes, it may do both.
func (w window) next(t time.Time) time.Time {
	_, change := t.In(w.zone).ZoneBounds()
	return earlier(change, earlier(w.starts(t), w.ends(t)))
}

// earlier is the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// closing are the windows that keep a sync from starting at a moment, in the way of SyncWindows.CanSync of argo-cd
// v3.5.7, pkg/apis/application/v1alpha1/types.go: the active windows that deny; without one, the windows that allow, if
// none of them is active. They let a manual sync through if each of them has manualSync.
func (o openings) closing(manual bool, t time.Time) openings {
	var denies, inactive openings
	allowed := false
	for _, w := range o {
		switch active := w.active(t); {
		case w.Kind == "deny" && active:
			denies = append(denies, w)
		case w.Kind == "allow" && active:
			allowed = true
		case w.Kind == "allow":
			inactive = append(inactive, w)
		}
	}
	closing := denies
	if len(denies) == 0 && !allowed {
		closing = inactive
	}
	if manual && !slices.ContainsFunc(closing, func(w window) bool { return !w.ManualSync }) {
		return nil
	}
	return closing
}

// detail names the window that closes at a moment: a window that denies, or of those that allow the one that starts
// next.
func (o openings) detail(manual bool, t time.Time) string {
	if o[0].Kind == "allow" {
		first := o[0]
		for _, w := range o[1:] {
			if starts := w.starts(t); earlier(first.starts(t), starts).Equal(starts) && !starts.Equal(first.starts(t)) {
				first = w
			}
		}
		return first.String()
	}
	named := slices.DeleteFunc(slices.Clone(o), func(w window) bool { return manual && w.ManualSync })
	if more := len(named) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more", named[0], more)
	}
	return named[0].String()
}

const (
	// horizon is how far opensAt looks ahead, and mostMoments at how many moments.
	horizon     = 60 * 24 * time.Hour
	mostMoments = 2000
)

// opensAt is the first moment after now at which a sync may start; zero when there is none in sight. It is a second
// after a window starts or ends, because at that very moment none is active.
func (o openings) opensAt(manual bool, now time.Time) time.Time {
	at := now.Round(0).Add(-time.Second)
	for range mostMoments {
		next := time.Time{}
		for _, w := range o {
			next = earlier(next, w.next(at))
		}
		if next.IsZero() || next.After(now.Add(horizon)) {
			break
		}
		at = next
		if open := at.Add(time.Second); len(o.closing(manual, open)) == 0 {
			return open.UTC()
		}
	}
	return time.Time{}
}
