package webhook

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// Witness tells whether an Application exists that a request speaks of.
type Witness interface {
	// Exists reports whether the Application of this name has this UID, and one of the owners controls it. Where that cannot be
	// read, it does not.
	Exists(ctx context.Context, name types.NamespacedName, uid types.UID, owners []types.UID) bool
}

// witnessTimeout bounds the read of an Application that the watches do not know.
const witnessTimeout = time.Second

// conclude records a verdict, and asks for the comparisons that it calls for. A webhook does not know its callers, unless
// --client-ca-file is set. For an Application that does not exist there is an answer, a log line and a count, and nothing else: no
// Event, no refresh, and nothing that is remembered.
func (g *Gate) conclude(ctx context.Context, log logr.Logger, w *write, v verdict) {
	exists := g.exists(ctx, w, v)
	g.Record.Record(log, w, v, exists)
	if exists {
		g.refresh(w, v)
	}
}

// exists reports whether the Application of a write exists. It is not asked where nothing comes of the verdict. An Application that is
// being created does not exist yet, but its ApplicationSet does.
func (g *Gate) exists(ctx context.Context, w *write, v verdict) bool {
	consequent := v.err != nil || v.Outcome == policy.Deny || v.exempt() || g.Record.blocked.waits(w.uid)
	switch {
	case w.dryRun || !consequent:
		return true
	case w.created:
		return v.found
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	return g.Witness.Exists(ctx, types.NamespacedName{Namespace: w.namespace, Name: w.target.Name}, w.uid, w.ownerUIDs())
}

func (w *write) ownerUIDs() []types.UID {
	var uids []types.UID
	for _, o := range w.owners {
		uids = append(uids, o.UID)
	}
	return uids
}
