// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// History is the answer of `stepgate history`, and its JSON. Its fields keep their names and meanings within an
// apiVersion; fields may be added.
type History struct {
	metav1.TypeMeta `json:",inline"`
	// ReadAt is when the ledger was read.
	ReadAt metav1.Time `json:"readAt"`
	// ApplicationSets have a log each, by namespace and name, with steps as people call them (ledger.Log.Told).
	ApplicationSets []*ledger.Log `json:"applicationSets"`
	// Problems are the ApplicationSets of which no log can be read, and why.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem says why there is no log of an ApplicationSet.
type Problem struct {
	ApplicationSet string `json:"applicationSet"`
	Text           string `json:"text"`
}

// New returns an empty History.
func New(now time.Time) *History {
	return &History{
		TypeMeta: metav1.TypeMeta{APIVersion: "stepgate.io/v1alpha1", Kind: "History"}, ReadAt: metav1.NewTime(now),
		ApplicationSets: []*ledger.Log{},
	}
}

// DeepCopyObject implements runtime.Object.
func (h *History) DeepCopyObject() runtime.Object { return h }

// Rollouts counts those of all ApplicationSets.
func (h *History) Rollouts() (n int) {
	for _, l := range h.ApplicationSets {
		n += len(l.Rollouts)
	}
	return n
}

// longest is the longest wait of a step; nil if it has waited for nothing.
func longest(s *ledger.Step, now time.Time) (w *ledger.Wait) {
	for i := range s.Waits {
		if w == nil || s.Waits[i].Took(now) > w.Took(now) {
			w = &s.Waits[i]
		}
	}
	return w
}

// cell is a step in a column of steps: 3 or wave 20.
func cell(s *ledger.Step) string {
	if s.Wave != nil {
		return s.Name()
	}
	return strconv.Itoa(s.Step)
}

// short is a revision as people say it.
func short(revision string) string {
	if len(revision) == 40 || len(revision) == 64 {
		return revision[:7]
	}
	return revision
}

// where is a source without what all have.
func where(source string) string {
	source = strings.TrimPrefix(strings.TrimPrefix(source, "dry "), "https://")
	return strings.Join(strings.Fields(source), " ")
}

// took is how long a rollout took, or takes.
func took(r *ledger.Rollout, now time.Time) time.Duration {
	if !r.EndedAt.IsZero() {
		now = r.EndedAt
	}
	return max(0, now.Sub(r.ComparedAt))
}
