// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Options is how a rollout is played.
type Options struct {
	// Version of Argo CD, one of Versions.
	Version string
	// Mode of stepgate: enforce, audit or off. Off is Argo CD alone.
	Mode settings.Mode
	// Seed draws when Applications were last compared, and how long everything takes.
	Seed uint32
	// Failures are the Applications that fail, by name.
	Failures map[string]Failure
	// Healthy is how long an Application takes to become Healthy after a sync.
	Healthy time.Duration
	// Poll is Argo CD's timeout.reconciliation.
	Poll time.Duration
	// GitWebhook says that a git webhook tells Argo CD of the commit at once.
	GitWebhook bool
	// ByHand are the Applications that somebody syncs as soon as the earlier steps are done.
	ByHand []string
	// Commits land one after the other; nil if there is one.
	Commits *Commits
	// Pin is stepgate's --pin in a train, and Start its --start.
	Pin   string
	Start bool
	// Progress hears how many Applications are done with what they have to deploy; nil if nobody asks.
	Progress func(done int)
}

// Failure is how an Application fails.
type Failure string

// The ways to fail. They are also the model's names of what a commit does.
const (
	FailsHealth Failure = "bad"
	FailsSync   Failure = "fails"
)

// Versions are those of Argo CD that are modelled.
func Versions() []string { return []string{"3.2", "3.4", "3.5", "3.6"} }

// ParseFailures reads the values of --fail: APP, which is APP=health, or APP=sync.
func ParseFailures(values []string) (map[string]Failure, error) {
	failures := map[string]Failure{}
	for _, value := range values {
		app, how, named := strings.Cut(value, "=")
		failure, known := map[string]Failure{"health": FailsHealth, "sync": FailsSync}[how]
		if !named {
			failure, known = FailsHealth, true
		}
		if app == "" || !known {
			return nil, fmt.Errorf("%q is not APP, APP=health or APP=sync", value)
		}
		if _, twice := failures[app]; twice {
			return nil, fmt.Errorf("%s is given twice", app)
		}
		failures[app] = failure
	}
	return failures, nil
}

// Validate looks at what has a range.
func (o *Options) Validate() error {
	switch {
	case !slices.Contains(Versions(), o.Version):
		return fmt.Errorf("--argocd: %q is not one of %s", o.Version, strings.Join(Versions(), ", "))
	case o.Healthy < time.Second || o.Healthy > 24*time.Hour:
		return errors.New("--healthy-after: it has to be between 1s and 24h")
	case o.Commits == nil && (o.Start || o.Pin != settings.PinCompared.String() && o.Pin != ""):
		return errors.New("--start and --pin go with --commits only")
	case o.Poll < 10*time.Second || o.Poll > 24*time.Hour:
		return errors.New("--poll: it has to be between 10s and 24h")
	}
	return nil
}

// counting is hear, which tells the progress as well.
func (o *Options) counting(hear func(simulation.Observation)) func(simulation.Observation) {
	if o.Progress == nil {
		return hear
	}
	done := map[string]bool{}
	return func(h simulation.Observation) {
		hear(h)
		if h.Kind == simulation.Done {
			done[h.Application] = true
			o.Progress(len(done))
		}
	}
}
