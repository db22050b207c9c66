// SPDX-License-Identifier: Apache-2.0

package audit

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Report is the answer of `stepgate audit`, and its JSON. Its fields keep their names and meanings within an
// apiVersion; fields may be added. Steps are 1-based, and a step that is a
// sync wave has its number. Times have a resolution of one second.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// MadeAt is when the Applications were read.
	MadeAt metav1.Time `json:"madeAt"`
	// Context is the context of the kubeconfig.
	Context string `json:"context,omitempty"`
	// Since is the beginning of the time that is looked at; absent when it is all that is on record. A rollout counts
	// if it began then or later.
	Since *metav1.Time `json:"since,omitempty"`
	// Totals are those of all ApplicationSets.
	Totals Totals `json:"totals"`
	// WithoutSteps is the number of ApplicationSets that were asked for and have neither a RollingSync
	// strategy with steps nor waves.
	WithoutSteps int `json:"withoutSteps"`
	// ApplicationSets are those with steps, by namespace and name.
	ApplicationSets []ApplicationSet `json:"applicationSets"`
}

// Totals count rollouts. The verdicts add up to Rollouts.
type Totals struct {
	Rollouts   int `json:"rollouts"`
	OutOfOrder int `json:"outOfOrder"`
	ByHand     int `json:"byHand"`
	Unclear    int `json:"unclear"`
	InOrder    int `json:"inOrder"`
	OneStep    int `json:"oneStep"`
	// LongestSeconds is the longest time by which Argo CD started an Application too early.
	LongestSeconds int64 `json:"longestSeconds"`
	// FromLedger counts the rollouts that are judged by stepgate's ledger, because Argo CD's records do not have them any
	// more.
	FromLedger int `json:"fromLedger"`
}

// ApplicationSet is an ApplicationSet with steps.
type ApplicationSet struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Steps is the number of its steps, or of the sync waves that its Applications are in.
	Steps int `json:"steps"`
	// Applications is the number of those that a step selects, and NotSelected of the others, which are left out.
	Applications int `json:"applications"`
	NotSelected  int `json:"notSelected"`
	// NotComparable is the number of Applications of later steps that share no source with any Application of an
	// earlier step: no revision of theirs can be compared.
	NotComparable int `json:"notComparable"`
	// Partial is the number of rollouts that are in order among the Applications with a record of the revision, and of
	// which others were left out.
	Partial int    `json:"partial"`
	Totals  Totals `json:"totals"`
	// Unclear are the reasons of the unclear rollouts, each rollout under its most suspicious one.
	Unclear []ReasonCount `json:"unclear"`
	// Rollouts are all, the newest first.
	Rollouts []Rollout `json:"rollouts"`
}

// ReasonCount says how many rollouts are unclear for a reason.
type ReasonCount struct {
	Reason   Reason `json:"reason"`
	Rollouts int    `json:"rollouts"`
	// Text is the reason for people.
	Text string `json:"text"`
}

// Rollout is one revision of one source: repository, chart and targetRevision.
type Rollout struct {
	Revision       string `json:"revision"`
	Repository     string `json:"repository"`
	Chart          string `json:"chart,omitempty"`
	TargetRevision string `json:"targetRevision"`
	// BeganAt is when the first sync started, and EndedAt when the last one ended; it is absent while one runs.
	BeganAt metav1.Time  `json:"beganAt"`
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
	Verdict Verdict      `json:"verdict"`
	// FromLedger says that stepgate's ledger tells of it, which knows steps, and not the single Applications.
	FromLedger bool `json:"fromLedger,omitempty"`
	// Reason is the most suspicious one, if the rollout is unclear, and Example two Applications to which it applies.
	Reason  Reason `json:"reason,omitempty"`
	Example *Pair  `json:"example,omitempty"`
	// LeftOut is the number of Applications of earlier steps that use the source and have no record of the revision: it
	// may not have touched them, their sync may have failed, or they may have gone on to a newer one.
	LeftOut int `json:"leftOut"`
	// Early are the Applications that started too early, by the step and the name.
	Early []Early `json:"early,omitempty"`
	// Syncs are the first syncs of the revision, by the step and the name.
	Syncs []Sync `json:"syncs"`
}

// Pair are two Applications.
type Pair struct {
	Later       string `json:"later"`
	LaterStep   int    `json:"laterStep"`
	Earlier     string `json:"earlier"`
	EarlierStep int    `json:"earlierStep"`
	// Wave says that the steps are sync waves.
	Wave bool `json:"wave,omitempty"`
}

// Sync is the first sync of the rollout's revision that is on record for an Application.
type Sync struct {
	Application string `json:"application"`
	Step        int    `json:"step"`
	// Wave says that the step is a sync wave.
	Wave      bool        `json:"wave,omitempty"`
	StartedAt metav1.Time `json:"startedAt"`
	// FinishedAt is absent while the sync runs.
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	Outcome    Outcome      `json:"outcome"`
	// By is the user that Argo CD has recorded. It is empty for automated sync, and where Argo CD does not know.
	By string `json:"by,omitempty"`
	// Automated says that Argo CD started the sync by itself.
	Automated bool `json:"automated"`
	// Unclear is the most suspicious reason for which its order is unclear, seen against some Application of an earlier
	// step. It is absent in Early and Before.
	Unclear Reason `json:"unclear,omitempty"`
}

// Early is a sync that started too early.
type Early struct {
	Sync `json:",inline"`
	// Verdict is OutOfOrder or ByHand.
	Verdict Verdict `json:"verdict"`
	// Seconds is the time between its start and the end of the last of the earlier syncs. It is absent while that one
	// runs.
	Seconds *int64 `json:"seconds,omitempty"`
	// Before are Applications of earlier steps that had not finished when it started, the last to finish first; at most
	// 3.
	Before []Sync `json:"before"`
	// BeforeCount is the number of all of them.
	BeforeCount int `json:"beforeCount"`
}

// mostBefore bounds Early.Before.
const mostBefore = 3

// Found says that there is a rollout that Argo CD did out of order.
func (r *Report) Found() bool { return r.Totals.OutOfOrder > 0 }

// DeepCopyObject makes a Report a runtime.Object, which printers ask for. The copy shares its parts: nobody changes a
// Report.
func (r *Report) DeepCopyObject() runtime.Object {
	same := *r
	return &same
}
