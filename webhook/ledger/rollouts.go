// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

const (
	// MostRollouts is how many rollouts a Log has: what is older is left out.
	MostRollouts = 50
	// MostSteps bounds what one rollout has.
	MostSteps = 1000
	// MostWaits bounds the waits that one step has.
	MostWaits = 10
	// MostFailures bounds its failures.
	MostFailures = 20
	// MostPeople bounds who has started syncs by hand, and who has approved.
	MostPeople = 10
	// largestLog bounds a Log, compressed.
	largestLog = 128 << 10
)

// Log are the last rollouts of an ApplicationSet, for people: no decision looks at them. They say what stepgate has seen.
// Times have a resolution of a second.
type Log struct {
	Version int `json:"version"`
	// UID is that of the ApplicationSet, and Set is its namespace/name.
	UID types.UID `json:"uid"`
	Set string    `json:"applicationSet"`
	// Since is when it begins: what was first compared before is not in it.
	Since time.Time `json:"since"`
	// Rollouts are in the order in which they were first seen.
	Rollouts []Rollout `json:"rollouts"`
}

// Rollout is one revision of one source on its way through the steps of an ApplicationSet.
type Rollout struct {
	// Source is the repository, the chart if it is one, and the targetRevision, and Revision is a commit, a chart's
	// version or a digest.
	Source   string `json:"source"`
	Revision string `json:"revision"`
	// Back says that it was deployed before, and something else since.
	Back bool `json:"back,omitempty"`
	// ComparedAt is when the first Application was first seen to be compared with it, and StartedAt when the first sync of
	// it started.
	ComparedAt time.Time `json:"comparedAt"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	// EndedAt is when its Result was known; zero while it is under way.
	EndedAt time.Time `json:"endedAt,omitzero"`
	Result  Result    `json:"result,omitempty"`
	// Steps are those that have Applications with the source.
	Steps []Step `json:"steps"`
	// Bypasses are those of the ApplicationSet while it was under way.
	Bypasses []Bypass `json:"bypasses,omitempty"`
}

// Result is what became of a rollout; empty while it is under way.
type Result string

// The results.
const (
	// Complete says that all steps have completed it.
	Complete Result = "complete"
	// Superseded says that some have completed something newer instead.
	Superseded Result = "superseded"
)

// Step is a step of a rollout.
type Step struct {
	// Step is one more than its 0-based number, as in policy.Decision. Where it is told to people (see Told), it is the
	// number that they call it by, and Wave is the same number of a sync wave; what is kept has no Wave.
	Step int  `json:"step"`
	Wave *int `json:"wave,omitempty"`
	// Applications counts those that have the source, and Done those that have completed the revision.
	Applications int `json:"applications"`
	Done         int `json:"done"`
	// StartedAt is when its first sync started, and CompletedAt is when the last Application was done with it.
	StartedAt   time.Time `json:"startedAt,omitzero"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	// Skipped says that it has completed something newer instead.
	Skipped bool `json:"skipped,omitempty"`
	// Waits are what it has waited for, the longest ones, in their order.
	Waits []Wait `json:"waits,omitempty"`
	// Failures are the first Applications that have failed with it.
	Failures []Failure `json:"failures,omitempty"`
	// By are the people who have started a sync of it by hand.
	By []string `json:"by,omitempty"`
	// Approvals are those of the step for it, and Evidence what was asked and answered.
	Approvals []Approval `json:"approvals,omitempty"`
	Evidence  []Evidence `json:"evidence,omitempty"`
}

// Told is the Log with its steps as people call them. The Log itself stays as it is.
func (l *Log) Told() *Log {
	told := *l
	told.Rollouts = slices.Clone(l.Rollouts)
	for i := range told.Rollouts {
		r := &told.Rollouts[i]
		r.Steps = slices.Clone(r.Steps)
		for j := range r.Steps {
			if step := &r.Steps[j]; policy.IsWave(step.Step - 1) {
				step.Step = policy.StepNumber(step.Step - 1)
				step.Wave = &step.Step
			}
		}
	}
	return &told
}

// Name is what people call a step of a Log that is told.
func (s *Step) Name() string {
	if s.Wave != nil {
		return "wave " + strconv.Itoa(*s.Wave)
	}
	return "step " + strconv.Itoa(s.Step)
}

// Wait is what a step has waited for: the root, that waits for nothing else itself.
type Wait struct {
	Reason string    `json:"reason"`
	For    string    `json:"for"`
	Since  time.Time `json:"since"`
	// Until is zero while it waits.
	Until time.Time `json:"until,omitzero"`
}

// Took is how long it has waited.
func (w *Wait) Took(now time.Time) time.Duration {
	if !w.Until.IsZero() {
		now = w.Until
	}
	return now.Sub(w.Since)
}

// Failure is an Application that has failed. RepairedAt is zero while it has.
type Failure struct {
	Application string    `json:"application"`
	What        string    `json:"what"`
	At          time.Time `json:"at"`
	RepairedAt  time.Time `json:"repairedAt,omitzero"`
}

// Approval says who has approved, and when.
type Approval struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Evidence is what an object has said.
type Evidence struct {
	Object string    `json:"object"`
	Answer string    `json:"answer"`
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Bypass says that the rule was switched off, by whom or why, and since when that was seen.
type Bypass struct {
	Why string    `json:"why"`
	At  time.Time `json:"at"`
}

// EncodeLog is a Log as a ConfigMap keeps it, without its oldest rollouts if there are too many.
func EncodeLog(l *Log) ([]byte, error) {
	kept := *l
	for most := MostRollouts; ; most /= 2 {
		if over := len(kept.Rollouts) - most; over > 0 {
			kept.Since = kept.Rollouts[over-1].ComparedAt
			kept.Rollouts = kept.Rollouts[over:]
		}
		_, compressed, err := compress(kept)
		switch {
		case err != nil:
			return nil, err
		case len(compressed) <= largestLog:
			return compressed, nil
		case most == 0:
			return nil, fmt.Errorf("the log of ApplicationSet %s is too large", l.Set)
		}
	}
}

// DecodeLog reads the log that a ConfigMap of an ApplicationSet keeps. An error means that nothing of it counts.
func DecodeLog(compressed []byte, set types.UID) (*Log, error) {
	l := &Log{}
	if err := decompress(compressed, l); err != nil {
		return nil, err
	}
	if l.UID != set {
		return nil, fmt.Errorf("%w: it is the log of %q", ErrUnreadable, cut(string(l.UID)))
	}
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return l, nil
}

// logProblem is why the Log of a part does not count; nil if it has none.
func (o *Object) logProblem() error {
	if len(o.Rollouts) == 0 {
		return nil
	}
	_, err := DecodeLog(o.Rollouts, o.Set)
	return err
}

// Problem is why nothing of a part counts, or nothing of its Log; nil if all does.
func (o *Object) Problem(now time.Time) error {
	if _, err := Decode(o.Completions, o.Set, o.Part, now); err != nil {
		return err
	}
	if err := o.logProblem(); err != nil {
		return fmt.Errorf("the log of rollouts: %w", err)
	}
	return nil
}

func (l *Log) validate() error {
	if len(l.Rollouts) > MostRollouts {
		return errors.New("it has more rollouts than stepgate writes")
	}
	for i := range l.Rollouts {
		r := &l.Rollouts[i]
		if r.Revision == "" || len(r.Steps) > MostSteps || len(r.Bypasses) > MostWaits ||
			r.Result != "" && r.Result != Complete && r.Result != Superseded {
			return errors.New("a rollout is none that stepgate writes")
		}
		if slices.ContainsFunc(r.Steps, func(s Step) bool {
			return len(s.Waits) > MostWaits || len(s.Failures) > MostFailures || len(s.By) > MostPeople ||
				len(s.Approvals) > MostPeople || len(s.Evidence) > MostPeople
		}) {
			return errors.New("a step has more than stepgate writes")
		}
	}
	return nil
}

// Text is a text of a Log: no longer than stepgate writes.
func Text(s string) string {
	if len(s) <= longestText {
		return s
	}
	return s[:longestText-len("…")] + "…"
}
