package webhook

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// Path is where a Gate is served.
const Path = "/validate"

// LiveReader reads from the API server, never from a cache. An error of either method means that there is no decision:
// in enforce mode the write is then not allowed.
type LiveReader interface {
	// ApplicationSet reads an ApplicationSet; nil without an error means that it does not exist.
	ApplicationSet(ctx context.Context, name types.NamespacedName) (*siblings.ApplicationSet, error)
	// Judge evaluates the rule on the siblings as they are now. It ignores the input's Siblings.
	Judge(ctx context.Context, in policy.Input) (policy.Decision, error)
}

// Config is how a Gate judges by default. Its zero value is the strictest, and honours no bypass in a sync.
type Config struct {
	Mode                  Mode
	Require               policy.Require
	GateRollbacks         bool
	AllowFailedOperations bool
	// ServerAccounts are the user names of argocd-server; only from them initiatedBy is believed.
	ServerAccounts []string
	// ControllerAccounts and ApplicationSetAccounts tell the initiator in metrics; nothing is decided by them. The latter are
	// held back when they repeat a denied write without a pause.
	ControllerAccounts, ApplicationSetAccounts []string
	// BypassUsers are the Argo CD users who may bypass the gate in a sync of their own.
	BypassUsers []string
	// RefreshStaleSiblings has Argo CD compare again what a denial finds to have been compared too early.
	RefreshStaleSiblings bool
}

// Watch tells what a watch of the Applications has seen.
type Watch interface {
	// FirstSeen returns when Argo CD first compared an Application with these sources and revisions; zero when that was
	// not seen.
	FirstSeen(app types.UID, compared []policy.Source) time.Time
}

// Refresher has Argo CD compare an Application again, in the background. why is what is said of it, and comparedAt when it
// was last compared.
type Refresher interface {
	Ask(app types.NamespacedName, why string, comparedAt time.Time)
}

// Parts are what a Gate works with.
type Parts struct {
	// Live is the only source of what is allowed.
	Live   LiveReader
	Record *Recorder
	Watch  Watch
	// Refresh is used with RefreshStaleSiblings only.
	Refresh Refresher
	// Now is the clock for the end of a bypass.
	Now func() time.Time
}

// Gate judges admission requests.
type Gate struct {
	config Config
	Parts
	pace *pace
}

// NewGate returns a Gate.
func NewGate(config Config, parts Parts) *Gate {
	return &Gate{config: config, Parts: parts, pace: newPace()}
}

var _ webhook.AdmissionHandler = (*Gate)(nil)

// Handle judges one write.
//
// Between the reads and the write that is admitted, time passes: the API server still has to call other webhooks and to
// store the object. In that time
//   - a sibling of an earlier step may stop being done (it degrades, a commit is noticed, somebody starts a sync). The
//     target then starts although, at that very moment, it should not: a wrong allow, of milliseconds. Kubernetes
//     offers no transaction over two objects; Argo CD itself has this gap, and there it is the age of a cache.
//   - a sibling may become done. The target is then refused although it could go: a wrong deny. Whoever asked asks
//     again; the ApplicationSet controller does so when a sibling's health, sync status or operation changes.
//   - two Applications of one step may be admitted together: nothing here counts maxUpdate.
//
// What the target deploys may also change after the write: up to Argo CD 3.5 an operation carries no revision, and the
// application controller resolves targetRevision when it starts the sync. A commit that lands in between escapes; only
// pinning the operation's revision closes that.
//
// An Application that was taken from its ApplicationSet, or whose step label was changed, in an earlier write is judged
// by what it is now: the ApplicationSet controller reverts both.
func (g *Gate) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := newWrite(req.AdmissionRequest)
	if err != nil {
		return badRequest(err)
	}
	controller := slices.Contains(g.config.ApplicationSetAccounts, w.user) && !w.dryRun
	if controller && g.pace.wait(ctx, w.uid) {
		g.Record.held()
	}
	start := time.Now()
	v := g.judge(ctx, w)
	v.took = time.Since(start)
	g.Record.Record(logr.FromContextOrDiscard(ctx).WithValues("application", plain(req.Name)), w, v)
	g.refresh(w, v)
	if controller {
		g.pace.judged(w.uid, v.denied())
	}
	return v.response()
}

// refresh asks for the blockers of a denial to be compared again that are only stale, and for the target itself if all
// that is missing is that the ApplicationSet controller notices its sync. In audit mode nothing is changed.
func (g *Gate) refresh(w *write, v verdict) {
	if !g.config.RefreshStaleSiblings || w.dryRun || v.err != nil || !v.rejects() {
		return
	}
	if v.Reason == policy.AlreadySynced {
		g.Refresh.Ask(types.NamespacedName{Namespace: w.namespace, Name: w.target.Name}, string(v.Reason), w.target.ReconciledAt)
	}
	for _, b := range v.Blockers {
		// Where a refresh is pending, somebody has asked.
		if b.Reason.Stale() && b.Reason != policy.RefreshPending {
			g.Refresh.Ask(types.NamespacedName{Namespace: w.namespace, Name: b.Application}, string(b.Reason)+" "+b.Detail, b.ComparedAt)
		}
	}
}

// verdict is what came of one write: a decision, or the error that prevented one.
type verdict struct {
	policy.Decision
	settings settings
	// initiator is the metric label for who wrote.
	initiator string
	took      time.Duration
	// err says why there is no decision. The Decision then means nothing.
	err error
}

// denied is what a denial says; empty when it is none.
func (v verdict) denied() string {
	if v.err != nil || !v.rejects() {
		return ""
	}
	return v.message()
}

// rejects reports whether the write does not go through: outside audit mode, whatever is not Allow or NotGated.
func (v verdict) rejects() bool {
	passes := v.err == nil && (v.Outcome == policy.Allow || v.Outcome == policy.NotGated)
	return v.settings.mode != Audit && !passes
}

func (g *Gate) judge(ctx context.Context, w *write) verdict {
	initiator := g.initiator(w.user)
	if d, settled := policy.Relevant(w.target); settled {
		return verdict{Decision: d, settings: settings{mode: g.config.Mode}, initiator: initiator}
	}
	worst := g.judgeBy(ctx, w, w.owners[0])
	for _, owner := range w.owners[1:] {
		if v := g.judgeBy(ctx, w, owner); v.stricterThan(worst) {
			worst = v
		}
	}
	worst.initiator = initiator
	return worst
}

// judgeBy judges the write as one of the ApplicationSet that the owner names.
func (g *Gate) judgeBy(ctx context.Context, w *write, owner metav1.OwnerReference) verdict {
	set, err := g.Live.ApplicationSet(ctx, types.NamespacedName{Namespace: w.namespace, Name: owner.Name})
	if set != nil && set.UID != string(owner.UID) {
		set = nil
	}
	s := g.settingsFor(set, w)
	if err != nil {
		return verdict{settings: s, err: err}
	}
	in := policy.Input{Target: w.target, Settings: s.Settings}
	in.Target.FirstSeen = g.firstSeen(w)
	if set != nil {
		in.ApplicationSet = &set.ApplicationSet
	}
	d, settled := policy.Scope(in)
	if !settled {
		d, err = g.Live.Judge(ctx, in)
	}
	return verdict{Decision: d, settings: s, err: err}
}

// firstSeen is when what the operation will deploy was first seen on the target. It is known only of an operation that
// deploys what the target, with its present spec, was compared with.
func (g *Gate) firstSeen(w *write) time.Time {
	compared := w.target.Compared
	if !w.target.SpecCompared || slices.ContainsFunc(w.target.Wanted, func(s policy.Source) bool { return !slices.Contains(compared, s) }) {
		return time.Time{}
	}
	return g.Watch.FirstSeen(w.uid, compared)
}

// stricterThan orders by what happens to the write, then by the outcome.
func (v verdict) stricterThan(other verdict) bool {
	if v.rejects() != other.rejects() {
		return v.rejects()
	}
	if (v.err == nil) != (other.err == nil) {
		return v.err != nil
	}
	return v.Outcome < other.Outcome
}

// initiator names the writer for the metrics.
func (g *Gate) initiator(user string) string {
	switch {
	case slices.Contains(g.config.ApplicationSetAccounts, user):
		return "applicationset"
	case slices.Contains(g.config.ControllerAccounts, user):
		return "controller"
	case slices.Contains(g.config.ServerAccounts, user):
		return "server"
	}
	return "other"
}

// failure is the error for the log; a deadline that passed is named as such.
func (v verdict) failure() string {
	if errors.Is(v.err, context.DeadlineExceeded) {
		return "the API server did not answer within the webhook's time: " + v.err.Error()
	}
	return v.err.Error()
}
