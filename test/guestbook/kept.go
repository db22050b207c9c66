// SPDX-License-Identifier: Apache-2.0

package guestbook

import (
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// Kept is the ConfigMap with the history of an ApplicationSet of three steps, in a namespace: eleven rollouts that are
// over, of which one was superseded and one needed people, and the one under way.
func Kept(set *argo.ApplicationSet, namespace string, now time.Time) (*corev1.ConfigMap, error) {
	now = now.UTC().Truncate(time.Second)
	log := &ledger.Log{
		Version: ledger.Version, UID: set.UID, Set: set.Namespace + "/" + set.Name, Since: now.Add(-12 * 24 * time.Hour),
	}
	for i := range 9 {
		commit := fmt.Sprintf("%07x%033d", 0xa1b2c3d+i*0x98765, 0)
		log.Rollouts = append(log.Rollouts, kept(commit, now.Add(time.Duration(i-11)*24*time.Hour)))
	}
	log.Rollouts = append(log.Rollouts, superseded(kept(fmt.Sprintf("%07x%033d", 0xbad1dea, 0), now.Add(-50*time.Hour))),
		needed(kept(OldCommit, now.Add(-26*time.Hour))), underWay(kept(NewCommit, now.Add(-40*time.Minute))))
	text, err := ledger.EncodeLog(log)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: ledger.ID{Set: set.UID}.Name(), Labels: map[string]string{ledger.Label: string(set.UID)},
			Annotations: map[string]string{ledger.SetAnnotation: log.Set},
		},
		BinaryData: map[string][]byte{ledger.RolloutsKey: text},
	}, err
}

// kept is a rollout that was completed within 36 minutes.
func kept(commit string, at time.Time) ledger.Rollout {
	r := ledger.Rollout{
		Source: "https://github.com/infra-team/cluster-deployments  HEAD", Revision: commit, ComparedAt: at,
		StartedAt: at.Add(5 * time.Second), EndedAt: at.Add(36 * time.Minute), Result: ledger.Complete,
	}
	for i, minutes := range []time.Duration{0, 4, 34} {
		began := at.Add(minutes * time.Minute)
		s := ledger.Step{
			Step: i + 1, Applications: 1, Done: 1, StartedAt: began.Add(5 * time.Second),
			CompletedAt: began.Add(2 * time.Minute),
		}
		if i > 0 {
			s.Waits = []ledger.Wait{{
				Reason: "NotHealthy", For: "engineering-dev-guestbook (NotHealthy: Progressing)", Since: at.Add(time.Minute),
				Until: at.Add(2 * time.Minute),
			}}
		}
		r.Steps = append(r.Steps, s)
	}
	prod := &r.Steps[2]
	prod.Waits = append(prod.Waits, ledger.Wait{
		Reason: "NotApproved", For: "step 3 is not approved", Since: at.Add(6 * time.Minute), Until: at.Add(34 * time.Minute),
	})
	prod.Approvals = []ledger.Approval{{By: "alice@example.com", At: at.Add(34 * time.Minute)}}
	return r
}

// superseded has never reached step 3.
func superseded(r ledger.Rollout) ledger.Rollout {
	r.Result = ledger.Superseded
	r.Steps[1].Done, r.Steps[1].CompletedAt, r.Steps[1].Skipped = 0, time.Time{}, true
	r.Steps[2] = ledger.Step{Step: 3, Applications: 1, Skipped: true, Waits: r.Steps[2].Waits}
	return r
}

// needed has failed, and people have helped it.
func needed(r ledger.Rollout) ledger.Rollout {
	qa, prod := &r.Steps[1], &r.Steps[2]
	qa.By = []string{"bob"}
	qa.Failures = []ledger.Failure{{
		Application: "engineering-qa-guestbook", What: "its sync has failed", At: r.ComparedAt.Add(5 * time.Minute),
		RepairedAt: r.ComparedAt.Add(9 * time.Minute),
	}}
	prod.Evidence = []ledger.Evidence{{
		Object: "jobs.v1.batch/smoke", Answer: "yes", Detail: "2 of 2 succeeded", At: r.ComparedAt.Add(20 * time.Minute),
	}}
	r.Back = true
	r.Bypasses = []ledger.Bypass{{Why: "INC-1234 until 20:00", At: r.ComparedAt.Add(10 * time.Minute)}}
	return r
}

// underWay has completed step 1, and the others wait.
func underWay(r ledger.Rollout) ledger.Rollout {
	r.Result, r.EndedAt = "", time.Time{}
	for i := 1; i < len(r.Steps); i++ {
		r.Steps[i] = ledger.Step{Step: i + 1, Applications: 1, Waits: []ledger.Wait{{
			Reason: "NotHealthy", For: "engineering-dev-guestbook (NotHealthy: Progressing)",
			Since: r.ComparedAt.Add(time.Minute),
		}}}
	}
	r.Steps[0].Done, r.Steps[0].CompletedAt = 0, time.Time{}
	return r
}
