// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/release"
)

// ValidatePath is where a Gate is served.
const ValidatePath = "/validate"

// Lookup tells whether an Application exists that a request speaks of.
type Lookup interface {
	// Exists reports whether the Application of this name has this UID, and one of the owners controls it. Where that
	// cannot be read, it does not.
	Exists(ctx context.Context, name types.NamespacedName, uid types.UID, owners []types.UID) bool
}

// witnessTimeout bounds the read of an Application that the watches do not know.
const witnessTimeout = time.Second

// Recorder tells operators the decisions. record.Recorder is one.
type Recorder interface {
	Record(log logr.Logger, w *judge.Write, v judge.Verdict, exists bool)
	// Pinned counts an operation that was pinned. by says to what.
	Pinned(by string)
	// Consequent reports whether something comes of a verdict beside the answer, the log and the counts.
	Consequent(w *judge.Write, v judge.Verdict) bool
}

// Dependencies are what becomes of a judgment, beside the answer.
type Dependencies struct {
	Record Recorder
	// Lookup is asked before anything but the answer comes of a request.
	Lookup Lookup
	// Requests ask for the comparisons that denials call for; nil if nobody does.
	Requests *release.Requests
}

// Gate answers the requests of the validating webhook.
type Gate struct {
	course *course.Course
	Dependencies
	passes passes
}

// NewGate returns a Gate.
func NewGate(c *course.Course, dependencies Dependencies) *Gate {
	return &Gate{course: c, Dependencies: dependencies, passes: newPasses()}
}

var _ webhook.AdmissionHandler = (*Gate)(nil)

// Handle judges one write.
//
// Time passes between the reads and the write that they admit: the API server still calls other webhooks and stores the
// object. In that time
//   - a sibling of an earlier step may stop being done (it degrades, Argo CD notices a commit, somebody starts a sync). The
//     target then starts although, at that very moment, it should not: a wrong allow, of milliseconds. Kubernetes
//     offers no transaction over two objects. Argo CD itself has this gap, and there it is the age of a cache.
//   - a sibling may become done. The target is then refused although it could go: a wrong deny. The sender asks again;
//     the ApplicationSet controller does so when a sibling's health, sync status or operation changes.
//   - two Applications of one step may be admitted together. With Config.MaxUpdate each takes a slot of the step first,
//     and then no more are admitted than maxUpdate says, but for those that are created with an operation, and unless an
//     API server takes 10 s to store a write: see course.Course and slots.Store.
//
// The revision that the target deploys may also change after the write, unless the operation names it. Up to Argo CD
// 3.5 the ApplicationSet controller's operation names none: the application controller resolves targetRevision when it
// starts the sync, again at every retry, and after a sync window has opened. Retries are status writes, which the gate
// never sees. The Mutator pins the operation to the compared revision for that reason; where it did
// not, the gate denies an automated operation.
//
// The gate judges an Application by its present owner, even if an earlier write took it from its ApplicationSet: the
// ApplicationSet controller reverts that. A step that it has left a moment ago still counts (policy.Past).
func (g *Gate) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := judge.NewWrite(req.AdmissionRequest, g.course.Judge.Config.Tracking)
	if err != nil {
		return badRequest(err)
	}
	v, judged := g.passes.take(w)
	if !judged {
		v = g.course.Judged(ctx, w).UnlessForged(w)
	}
	g.conclude(ctx, logr.FromContextOrDiscard(ctx).WithValues("application", policy.ClientText(req.Name)), w, v)
	return answer(v)
}

// conclude records a verdict, and asks for the comparisons that it calls for. A webhook does not know its callers,
// unless --client-ca-file is set. For an Application that does not exist there is an answer, a log line and a count,
// and nothing else: no Event, no refresh, and nothing that is remembered.
func (g *Gate) conclude(ctx context.Context, log logr.Logger, w *judge.Write, v judge.Verdict) {
	exists := g.exists(ctx, w, v)
	g.Record.Record(log, w, v, exists)
	if exists && g.Requests != nil {
		g.Requests.AfterRefusal(w, v)
	}
}

// exists reports whether the Application of a write exists. It is not asked if nothing comes of the verdict. An
// Application that is being created does not exist yet, but its ApplicationSet does.
func (g *Gate) exists(ctx context.Context, w *judge.Write, v judge.Verdict) bool {
	switch {
	case w.DryRun || !g.Record.Consequent(w, v):
		return true
	case w.Created:
		return v.Found
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	return g.Lookup.Exists(ctx, types.NamespacedName{Namespace: w.Namespace, Name: w.Target.Name}, w.UID, w.OwnerUIDs())
}
