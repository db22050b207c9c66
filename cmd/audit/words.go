// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/stepgate/stepgate/cmd/screen"
)

// where is the source of a rollout.
func where(r *Rollout) string {
	if r.Chart != "" {
		return fmt.Sprintf("%s %s, %s", r.Chart, r.TargetRevision, r.Repository)
	}
	return strings.TrimSuffix(strings.TrimPrefix(r.Repository, "https://"), ".git") + " " + r.TargetRevision
}

// sentence says who started before whom.
func (e *Early) sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) started ", e.Application, stepName(e.Step, e.Wave))
	if e.Verdict == ByHand {
		fmt.Fprintf(&b, "by hand (%s) ", e.who())
	}
	last := e.Before[0]
	name := fmt.Sprintf("%s (%s)", last.Application, stepName(last.Step, last.Wave))
	if e.BeforeCount > 1 {
		name += fmt.Sprintf(", the last of %d,", e.BeforeCount)
	}
	switch {
	case e.Seconds == nil:
		fmt.Fprintf(&b, "before %s has finished", name)
	case last.Outcome == Failed:
		fmt.Fprintf(&b, "%s before %s had failed", span(*e.Seconds), name)
	default:
		fmt.Fprintf(&b, "%s before %s had finished", span(*e.Seconds), name)
	}
	switch e.Outcome {
	case Failed:
		b.WriteString("; its own sync failed")
	case Running:
		b.WriteString("; its own sync still runs")
	case Succeeded:
	}
	return b.String()
}

// stepKind is what people call a step without its number.
func stepKind(wave bool) string {
	if wave {
		return "wave"
	}
	return "step"
}

// stepName is a step or a wave by its number: "step 3" or "wave 20".
func stepName(number int, wave bool) string { return fmt.Sprintf("%s %d", stepKind(wave), number) }

// partial says what was left out of the rollouts that are in order.
func partial(s *ApplicationSet) string {
	return fmt.Sprintf("In %d of %s in order, Applications of earlier steps without a record were left out",
		s.Partial, count(s.Totals.InOrder, "rollout", "rollouts"))
}

// who is the user of a sync.
func (s *Sync) who() string {
	switch {
	case s.By != "":
		return s.By
	case s.Automated:
		return "automated sync"
	}
	return "user not recorded"
}

// short is a revision as people know it: 7 characters of a commit, and the whole version of a chart.
func short(revision string) string {
	if len(revision) >= 40 && !strings.Contains(revision, ":") {
		return revision[:7]
	}
	return screen.Cut(revision, 20)
}

// span is a length of time.
func span(seconds int64) string { return duration.HumanDuration(time.Duration(seconds) * time.Second) }

func clock(t metav1.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
