// SPDX-License-Identifier: Apache-2.0

package record

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
)

const (
	// unlistedMemory bounds the accounts that are remembered, and unlistedTTL is how long one is not logged again.
	unlistedMemory = 100
	unlistedTTL    = 24 * time.Hour
)

// unlisted notices operations that claim to come from a controller of Argo CD, and are written by an account that is
// not listed as one. A wrong name in the flags is no error otherwise: operations are denied instead of held.
type unlisted struct {
	metrics *Metrics
	logged  *cache.LRUExpireCache
}

func newUnlisted(metrics *Metrics) *unlisted {
	return &unlisted{metrics: metrics, logged: cache.NewLRUExpireCache(unlistedMemory)}
}

// note counts the write of an account that is not listed, and logs it once a day. initiator is the metric label of its
// writer.
func (u *unlisted) note(log logr.Logger, w *judge.Write, initiator string) {
	if !w.Target.Operation.Automated || initiator == judge.InitiatorApplicationSet ||
		initiator == judge.InitiatorController || initiator == judge.InitiatorStepgate {
		return
	}
	u.metrics.unlisted.Inc()
	if _, logged := u.logged.Get(w.User); logged {
		return
	}
	u.logged.Add(w.User, nil, unlistedTTL)
	log.Info("automated operation by an account that is not listed as a controller of Argo CD; if it is one, name it "+
		"with --argocd-applicationset-account",
		"account", policy.ClientText(w.User))
}
