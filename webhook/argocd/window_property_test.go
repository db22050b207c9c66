// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"pgregory.net/rapid"
)

var windowGen = rapid.Custom(func(t *rapid.T) *argo.SyncWindow {
	one := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	w := everywhere(one("kind", "allow", "deny"), fmt.Sprintf("%s %s %s * %s",
		one("minute", "0", "0", "30", "*/20", "*"), one("hour", "*", "2", "8", "22", "0-6", "*/6"),
		one("day", "*", "*", "*", "1", "15"), one("weekday", "*", "*", "1-5", "0")),
		one("duration", "30s", "1m", "90s", "30m", "1h", "6h", "8h30m", "24h", "200h", "0s", "-1h"))
	w.TimeZone = one("zone", "", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")
	w.ManualSync, w.SyncOverrun = rapid.Bool().Draw(t, "manualSync"), rapid.Bool().Draw(t, "syncOverrun")
	return w
})

// days are some after which the clocks change within three days, and some after which they do not.
var days = []time.Time{
	bubble, bubble.AddDate(0, 6, 0), time.Date(2000, 3, 24, 0, 0, 0, 0, time.UTC),
	time.Date(2000, 3, 31, 0, 0, 0, 0, time.UTC), time.Date(2000, 10, 27, 0, 0, 0, 0, time.UTC),
}

// TestArgoCDOpensWhenWindowOfSays moves the clock of argo-cd's own library, and asks it.
func TestArgoCDOpensWhenWindowOfSays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := windowCase{
			windows: rapid.SliceOfN(windowGen, 1, 4).Draw(r, "windows"),
			manual:  rapid.Bool().Draw(r, "manual"),
			now:     rapid.SampledFrom(days).Draw(r, "day").Add(time.Duration(rapid.Int64Range(0, int64(3*24*time.Hour)).Draw(r, "now"))),
		}
		if rapid.Bool().Draw(r, "at a full minute") {
			c.now = c.now.Truncate(time.Minute)
		}
		for range 30 {
			c.looks = append(c.looks, rapid.Float64Range(0, 1).Draw(r, "look"))
		}
		wrong := ""
		synctest.Test(t, func(*testing.T) { wrong = c.check() })
		if wrong != "" {
			r.Fatal(wrong)
		}
	})
}

type windowCase struct {
	windows argo.SyncWindows
	manual  bool
	now     time.Time
	// looks are moments between now and the opening, as parts of the time between them.
	looks []float64
}

// check returns how WindowOf and the library differ.
func (c *windowCase) check() string {
	later(c.now)
	w := WindowOf(c.windows, WindowSubject{Name: "app"}, !c.manual, c.now)
	if w.Closed == c.open() {
		return fmt.Sprintf("the library does not agree with %+v", w)
	}
	if w.Closed == (w.Detail == "") || !w.Closed && !w.OpensAt.IsZero() {
		return fmt.Sprintf("odd: %+v", w)
	}
	if !w.Closed {
		return ""
	}
	// What is sampled lies half a second beside all starts and ends.
	until := c.now.Add(12 * time.Hour) // mostMoments are enough for that
	if !w.OpensAt.IsZero() {
		until = w.OpensAt.Add(-time.Second)
	}
	for at := c.now.Truncate(30 * time.Second).Add(500 * time.Millisecond); at.Before(until) &&
		at.Sub(c.now) < 20*time.Minute; at = at.Add(30 * time.Second) {
		if later(at); c.open() {
			return fmt.Sprintf("it is open at %s: %+v", at, w)
		}
	}
	for i, part := range c.looks {
		// In the order of time: the n-th look is in the n-th part.
		whole := until.Sub(c.now) / time.Duration(len(c.looks))
		at := c.now.Add(whole*time.Duration(i) +
			time.Duration(part*float64(whole))).Truncate(30 * time.Second).Add(500 * time.Millisecond)
		if at.Before(time.Now()) || !at.Before(until) {
			continue
		}
		if later(at); c.open() {
			return fmt.Sprintf("it is open at %s: %+v", at, w)
		}
	}
	if w.OpensAt.IsZero() {
		return ""
	}
	if before := until.Add(-time.Nanosecond); before.After(time.Now()) {
		if later(before); c.open() {
			return fmt.Sprintf("it is open at %s: %+v", before, w)
		}
	}
	if later(w.OpensAt); !c.open() {
		return fmt.Sprintf("it is not open at %s: %+v", w.OpensAt, w)
	}
	if again := WindowOf(c.windows, WindowSubject{Name: "app"}, !c.manual, w.OpensAt); again.Closed {
		return fmt.Sprintf("it does not open: %+v, and then %+v", w, again)
	}
	return ""
}

// open is what the library says at present.
func (c *windowCase) open() bool {
	can, err := c.windows.Matches(WindowSubject{Name: "app"}.application()).CanSync(c.manual, nil)
	return can && err == nil
}

// BenchmarkAWindowThatNeverOpens looks at as many moments as WindowOf ever does.
func BenchmarkAWindowThatNeverOpens(b *testing.B) {
	windows := argo.SyncWindows{everywhere("deny", "* * * * *", "1h")}
	for b.Loop() {
		WindowOf(windows, WindowSubject{Name: "app"}, true, time.Now())
	}
}
