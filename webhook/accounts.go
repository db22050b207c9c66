package webhook

import (
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/cache"
)

// isApplicationSetController reports whether a user is an ApplicationSet controller of Argo CD: a configured account, or
// any service account with the usual name. A wrong guess only takes an operation away for a moment.
func (g *Gate) isApplicationSetController(user string) bool {
	return slices.Contains(g.config.ApplicationSetAccounts, user) ||
		strings.HasPrefix(user, "system:serviceaccount:") && strings.HasSuffix(user, "applicationset-controller")
}

// Initiators, as the metrics name them. The first two are controllers of Argo CD.
const (
	initiatorApplicationSet = "applicationset"
	initiatorController     = "controller"
	initiatorServer         = "server"
	initiatorOther          = "other"
)

// initiator names the writer for the metrics.
func (g *Gate) initiator(user string) string {
	switch {
	case g.isApplicationSetController(user):
		return initiatorApplicationSet
	case slices.Contains(g.config.ControllerAccounts, user):
		return initiatorController
	case slices.Contains(g.config.ServerAccounts, user):
		return initiatorServer
	}
	return initiatorOther
}

const (
	// unlistedMemory bounds the accounts that are remembered, and unlistedTTL is how long one is not logged again.
	unlistedMemory = 100
	unlistedTTL    = 24 * time.Hour
)

// unlisted notices operations that claim to come from a controller of Argo CD, and are written by an account that is not listed as
// one. A wrong name in the flags is no error otherwise: operations are denied instead of held.
type unlisted struct {
	metrics *Metrics
	logged  *cache.LRUExpireCache
}

func newUnlisted(metrics *Metrics) *unlisted {
	return &unlisted{metrics: metrics, logged: cache.NewLRUExpireCache(unlistedMemory)}
}

// note counts the write of an account that is not listed, and logs it once a day. initiator is the metric label of its writer.
func (u *unlisted) note(log logr.Logger, w *write, initiator string) {
	if !w.target.Operation.Automated || initiator == initiatorApplicationSet || initiator == initiatorController {
		return
	}
	u.metrics.unlisted.Inc()
	if _, logged := u.logged.Get(w.user); logged {
		return
	}
	u.logged.Add(w.user, nil, unlistedTTL)
	log.Info("automated operation by an account that is not listed as a controller of Argo CD; if it is one, name it with --argocd-applicationset-account or --argocd-controller-account",
		"account", printable(w.user))
}
