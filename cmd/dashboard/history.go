// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// History is what stepgate has kept of the past of a rollout.
type History struct {
	// At is when it was so.
	At metav1.Time `json:"at"`
	// Problem says in a sentence why there is none, and what to do; empty if there is one.
	Problem string `json:"problem,omitempty"`
	// Since is when it begins.
	Since time.Time `json:"since,omitzero"`
	// Rollouts are those that are kept, the newest first.
	Rollouts []ledger.Rollout `json:"rollouts"`
	// Commits are the addresses of commits, by the commit, where they are known.
	Commits map[string]string `json:"commits,omitempty"`
}

// HistoryOf is what was read of a log at a time. The error is one that tells nothing about the log. namespace is
// stepgate's own.
func HistoryOf(log *ledger.Log, err error, namespace string, at metav1.Time) (*History, error) {
	if err != nil {
		if why := history.Missing(err, namespace); why != "" {
			return NoHistory(why, at), nil
		}
		return nil, err
	}
	h := &History{At: at, Since: log.Since, Rollouts: log.Told().Rollouts, Commits: map[string]string{}}
	slices.Reverse(h.Rollouts)
	for i := range h.Rollouts {
		r := &h.Rollouts[i]
		if address := rollout.CommitURL(policy.Source{Key: r.Source, Revision: r.Revision}); address != "" {
			h.Commits[r.Revision] = address
		}
	}
	return h, nil
}

// NoHistory says why there is none.
func NoHistory(why string, at metav1.Time) *History {
	return &History{At: at, Problem: why, Rollouts: []ledger.Rollout{}}
}
