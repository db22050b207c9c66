// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onsi/gomega"
)

// mostTexts is how many different errors are kept.
const mostTexts = 10

// Tally counts the outcomes of writes. Its zero value is ready.
type Tally struct {
	mu       sync.Mutex
	outcomes map[Want]map[Outcome]int
	took     []time.Duration // of operation writes
	failures []Failure
	excused  int
	texts    []string
	refused  []time.Time
	held     int
	notHeld  int
}

// Failure is one write that was not answered with a decision.
type Failure struct {
	// Began and Ended are when it was sent and when it was known to have failed.
	Began, Ended time.Time
	Err          error
}

func (t *Tally) add(one *write, start time.Time, err error, held bool) Outcome {
	outcome := Judge(one.want, err, held)
	t.count(one.want, outcome, start, err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if held {
		t.held++
	}
	if refused(err) {
		t.refused = append(t.refused, start)
	}
	if refused(err) && one.holdable {
		t.notHeld++
	}
	return outcome
}

// Held is how many operation writes were admitted without their operation.
func (t *Tally) Held() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// NotHeld is how many operation writes of Argo CD's controllers stepgate has denied in place of holding them.
func (t *Tally) NotHeld() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.notHeld
}

// Refused is how many writes stepgate has denied that began at a moment or later.
func (t *Tally) Refused(since time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, began := range t.refused {
		if !began.Before(since) {
			n++
		}
	}
	return n
}

// count counts one write, or question; err is why the outcome is none of the right ones.
func (t *Tally) count(want Want, outcome Outcome, start time.Time, err error) {
	ended := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outcomes == nil {
		t.outcomes = map[Want]map[Outcome]int{Denied: {}, Admitted: {}, Regardless: {}}
	}
	t.outcomes[want][outcome]++
	if want != Regardless {
		t.took = append(t.took, ended.Sub(start))
	}
	if outcome == Failed {
		t.failures = append(t.failures, Failure{start, ended, err})
	}
	if outcome == Failed || outcome == WrongDeny {
		text := "an operation is held"
		if err != nil {
			text = err.Error()
		}
		if len(t.texts) < mostTexts && !slices.Contains(t.texts, text) {
			t.texts = append(t.texts, text)
		}
	}
}

// Calls is how many operation writes there were.
func (t *Tally) Calls() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.took)
}

// Count is how many writes had this outcome, whatever was wanted.
func (t *Tally) Count(outcome Outcome) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, of := range t.outcomes {
		n += of[outcome]
	}
	if outcome == Failed {
		n -= t.excused
	}
	return n
}

// Others is how many writes there were in which stepgate has no say.
func (t *Tally) Others() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, count := range t.outcomes[Regardless] {
		n += count
	}
	return n
}

// Failures are the writes that failed, in the order in which they did.
func (t *Tally) Failures() []Failure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failures)
}

// Excuse takes the failures out of the count that had to be, and returns how many there were.
func (t *Tally) Excuse(hadToBe func(Failure) bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.failures)
	t.failures = slices.DeleteFunc(t.failures, hadToBe)
	t.excused += before - len(t.failures)
	return before - len(t.failures)
}

// Texts are the different errors of failed and wrongly denied writes, the first ones.
func (t *Tally) Texts() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.texts)
}

// Percentile is the time that so many hundredths of the operation writes took at most.
func (t *Tally) Percentile(hundredths int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.took))
	return sorted[min(len(sorted)*hundredths/100, len(sorted)-1)]
}

// String sums it up.
func (t *Tally) String() string {
	return fmt.Sprintf("calls=%d failed=%d wrong_allows=%d wrong_denies=%d other_writes=%d p50=%s p99=%s max=%s",
		t.Calls(), t.Count(Failed), t.Count(WrongAllow), t.Count(WrongDeny), t.Others(),
		t.Percentile(50).Round(time.Millisecond/10), t.Percentile(99).Round(time.Millisecond/10),
		t.Percentile(100).Round(time.Millisecond/10))
}

// ExpectNoneWrong asserts that nothing was wrongly admitted and nothing wrongly denied.
func (t *Tally) ExpectNoneWrong(g gomega.Gomega) {
	g.Expect(t.Count(WrongAllow)).To(gomega.BeZero(), "wrong allows")
	g.Expect(t.Count(WrongDeny)).To(gomega.BeZero(), "wrong denies: %v", t.Texts())
}

// Goals returns a Gomega that reports every goal that is missed, and does not end the test at the first.
func Goals(t interface {
	Helper()
	Errorf(format string, args ...any)
}) gomega.Gomega {
	return gomega.NewGomega(func(message string, _ ...int) {
		t.Helper()
		t.Errorf("%s", message)
	})
}
