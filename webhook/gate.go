package webhook

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Path is where a Gate is served.
const Path = "/validate"

// Evaluator evaluates the rule on what the API server holds now. LiveEvaluator is one. An error of either method means
// that there is no decision: in enforce mode the write is then not allowed.
type Evaluator interface {
	// ApplicationSet reads an ApplicationSet live; nil without an error means that it does not exist.
	ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error)
	// Evaluate decides on the siblings as they are now. It ignores the input's Siblings. open is what policy.Scope says of the input, without
	// settling it.
	Evaluate(ctx context.Context, in policy.Input, open policy.Decision) (policy.Decision, error)
}

// Refresher has Argo CD compare an Application again, in the background.
type Refresher interface {
	// Ask requests a refresh. why is the reason, and comparedAt is when Argo CD last compared the Application.
	Ask(app types.NamespacedName, why string, comparedAt time.Time)
	// AskAgain has Argo CD notice a request that it has overlooked.
	AskAgain(app types.NamespacedName, comparedAt time.Time)
}

// Dependencies are what a Gate works with.
type Dependencies struct {
	// Live is the only source of an allow.
	Live Evaluator
	// Known lets an ApplicationSet be read side by side with its Applications; nil where it is read first.
	Known  KnownSets
	Record *Recorder
	Watch  Watch
	// Witness is asked before anything but the answer comes of a request.
	Witness Witness
	// Refresh is used with Release only.
	Refresh Refresher
	// Windows are the sync windows that syncs are held for; nil where they are left to Argo CD alone.
	Windows SyncWindows
	// Now is the clock for the end of a bypass and of conditions.
	Now func() time.Time
}

// Gate judges admission requests.
type Gate struct {
	config settings.Config
	parser *settings.Parser
	Dependencies
	// passes are the judgments of writes that the Mutator has let through a moment ago, by Application.
	passes *cache.LRUExpireCache
	// wishes are the positions at which operations first named revisions that were not compared.
	wishes *cache.LRUExpireCache
}

// NewGate returns a Gate.
func NewGate(config settings.Config, dependencies Dependencies) *Gate {
	return &Gate{
		config: config, parser: settings.NewParser(config, dependencies.Now), Dependencies: dependencies,
		passes: cache.NewLRUExpireCache(passMemory), wishes: cache.NewLRUExpireCache(wishMemory),
	}
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
//   - two Applications of one step may be admitted together: the gate does not count maxUpdate.
//
// The revision that the target deploys may also change after the write, unless the operation names it. Up to Argo CD 3.5 the
// ApplicationSet controller's operation names none: the application controller resolves targetRevision when it starts the sync, again at
// every retry, and after a sync window has opened. Retries are status writes, which the gate never sees. The Mutator pins
// the operation to the compared revision for that reason; with PinOff a commit that lands in between is deployed unchecked.
//
// The gate judges an Application by its present owner and labels, even if an earlier write took it from its
// ApplicationSet or changed its step: the ApplicationSet controller reverts both.
func (g *Gate) Handle(ctx context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := newWrite(req.AdmissionRequest)
	if err != nil {
		return badRequest(err)
	}
	v, judged := g.passed(w)
	if !judged {
		v = g.judge(ctx, w)
	}
	g.conclude(ctx, logr.FromContextOrDiscard(ctx).WithValues("application", printable(req.Name)), w, v)
	return v.response()
}

// refresh has Argo CD compare again what a refusal finds to have been compared too early: whoever was refused may ask
// again soon. In audit mode it asks for nothing. A write that is held waits for a Releaser, which goes on with the siblings that come later.
func (g *Gate) refresh(w *write, v verdict) {
	if !g.config.Release || w.dryRun || v.err != nil || !v.rejects() {
		return
	}
	needed := comparisons(v.Decision, &w.target)
	if v.held {
		needed = needed[:min(len(needed), atOnce)]
	}
	for _, c := range needed {
		// Where a refresh is pending, somebody has asked.
		later := v.held && (c.settling || c.synced) // by the Releaser
		if !c.pending && !c.unpolled && !later {
			g.Refresh.Ask(types.NamespacedName{Namespace: w.namespace, Name: c.app}, c.why, c.comparedAt)
		}
	}
}

// judge judges one write, as a member of each of its ApplicationSets. The strictest answer counts.
func (g *Gate) judge(ctx context.Context, w *write) (worst verdict) {
	start := time.Now()
	if d, settled := policy.Relevant(w.target); settled {
		worst = verdict{Decision: d, settings: g.parser.Of(nil)}
	} else {
		worst = g.judgeBy(ctx, w, w.owners[0])
		for _, owner := range w.owners[1:] {
			if v := g.judgeBy(ctx, w, owner); v.stricterThan(worst) {
				worst = v
			}
		}
	}
	worst.initiator, worst.took = g.initiator(w.user), time.Since(start)
	return worst
}

// judgeBy judges the write as a member of the ApplicationSet that the owner names.
func (g *Gate) judgeBy(ctx context.Context, w *write, owner metav1.OwnerReference) verdict {
	name := types.NamespacedName{Namespace: w.namespace, Name: owner.Name}
	if known := g.knownSet(name, owner.UID); known != nil {
		return g.judgeAhead(ctx, w, owner, known)
	}
	set, err := g.Live.ApplicationSet(ctx, name)
	return g.judgeOn(ctx, w, owner, setRead{set, err})
}

// judgeOn judges the write by an ApplicationSet that was read, or by the failure to read it.
func (g *Gate) judgeOn(ctx context.Context, w *write, owner metav1.OwnerReference, read setRead) verdict {
	set := read.set
	if set != nil && set.UID != string(owner.UID) {
		set = nil
	}
	s := g.parser.OfWrite(set, w.claim())
	if read.err != nil {
		return verdict{settings: s, err: read.err}
	}
	in := g.input(w, set, s)
	if set != nil {
		in.Seen = g.seen(w, &set.ApplicationSet)
	}
	var err error
	d, settled := policy.Scope(in)
	if !settled {
		d, err = g.Live.Evaluate(ctx, in, d)
	}
	return verdict{Decision: d, settings: s, err: err, repeated: g.repeats(in), found: set != nil}
}

// input is what is known about a write without a read and without the past.
func (g *Gate) input(w *write, set *argocd.ApplicationSet, s settings.Settings) policy.Input {
	in := policy.Input{Target: w.target, Settings: s.Settings, Now: g.Now(), Window: g.window(w), StartedBy: g.startedBy(w)}
	if set != nil {
		in.ApplicationSet = &set.ApplicationSet
	}
	return in
}

// startedBy is the person who starts a sync; empty where a controller of Argo CD does. Only argocd-server is believed who that is.
func (g *Gate) startedBy(w *write) string {
	switch {
	case w.target.Operation.Automated:
		return ""
	case slices.Contains(g.config.ServerAccounts, w.user) && w.initiatedBy != "":
		return w.initiatedBy
	}
	return w.user
}
