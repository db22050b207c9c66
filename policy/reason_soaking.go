// SPDX-License-Identifier: Apache-2.0

package policy

import "time"

// Soaking means that the sibling is done, and has to prove itself for longer.
const Soaking Reason = "Soaking"

var soaking = row{
	reason: Soaking,
	means: "The ApplicationSet has the annotation [`stepgate.io/soak`](conditions.md#soak). The Application is " +
		"done, but it has not been deployed and Healthy for that long. The text names the moment until which " +
		"it soaks.",
	do: "wait; the sync then starts by itself. For a hotfix, shorten the annotation or use a " +
		"[bypass](#bypassed).",
	level:     RequireHealth,
	condition: true,
	when: "what it runs was first deployed, or it became Healthy, less than the soak time ago; with `--pin " +
		"candidate`, what the target deploys, from when it was last not well",
	short: "it is done, but has not proved itself for long enough",
	next:  "wait, or change the annotation stepgate.io/soak",
}

// Soak is how long every Application of the earlier steps has to be deployed and Healthy before a step starts.
type Soak struct {
	// Every is the time for each step after the first that Of, by 0-based step, does not name.
	Every time.Duration
	Of    map[int]time.Duration
	// Unreadable says that the configuration cannot be read: later steps then wait until it is repaired.
	Unreadable bool
}

// Before is the time before a 0-based step.
func (s Soak) Before(step int) time.Duration {
	if step <= 0 {
		return 0
	}
	if of, named := s.Of[step]; named {
		return of
	}
	return s.Every
}

// soaks reports whether a sibling that is done has to prove itself for longer before the step starts, and until when.
// Argo CD cuts its times to seconds, so that a second is added.
//
// It has been deployed and Healthy since the later of two moments: when what it runs was first deployed, and when its
// health became Healthy. A commit that does not touch the sibling changes neither. With pin=candidate, what counts is not what
// it runs, but what the target deploys: it has completed that, and not been broken since.
func (in *Input) soaks(a *Application, step int) (until time.Time, detail string, ok bool) {
	soak := &in.Settings.Conditions.Soak
	wait := soak.Before(step)
	switch {
	case soak.Unreadable && step > 0:
		return until, "the annotation stepgate.io/soak cannot be read", true
	case wait <= 0:
		return until, "", false
	}
	since := later(a.LastSync.Since, a.HealthSince)
	switch c, completed := in.completion(a); {
	case completed && in.Settings.Candidates:
		since = later(c.Since, in.History.Past(a.Name).Broken)
	case a.Health != "Healthy":
		return until, "it has to be Healthy for " + wait.String(), true
	}
	if since.IsZero() {
		return until, "", false // it has deployed nothing, and nobody remembers that it was anything but Healthy
	}
	until = since.Truncate(time.Second).Add(time.Second + wait)
	return until, "until " + moment(until), until.After(in.Now)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// soaking is 1 for a blocker that only soaks, else 0.
func (b *Blocker) soaking() int {
	if b.Reason == Soaking {
		return 1
	}
	return 0
}
