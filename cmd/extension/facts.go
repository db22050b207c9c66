// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// The headers by which argocd-server names what the user may get.
const (
	ApplicationHeader = "Argocd-Application-Name"
	ProjectHeader     = "Argocd-Project-Name"
)

const (
	// sameFor is how long a rollout is not judged again: any number of people may look at it.
	sameFor = 2 * time.Second
	// mostKept bounds the rollouts that are kept for that.
	mostKept = 100
	// explainWidth is the width of `stepgate explain` in the UI, in columns.
	explainWidth = 80
)

// Known is what the watches know.
type Known interface {
	rollout.Known
	// Application is an Application as last watched; nil when none is known.
	Application(name types.NamespacedName) *argocd.Projection
	// Synced reports whether the first lists are complete.
	Synced() bool
}

var _ Known = (*cluster.Cache)(nil)

// Options are what Facts are made from.
type Options struct {
	Config settings.Config
	Known  Known
	// Objects reads single Applications live, for an explanation and for candidates. It writes nothing.
	Objects client.Reader
	// Writes changes annotations of ApplicationSets for users of Argo CD; nil if nobody may.
	Writes client.Client
	// Evidence is what objects are known to say; nil if nobody looks at them.
	Evidence judge.Evidence
	// Slots tell who has a slot of a step, as read a moment ago; nil if nobody keeps maxUpdate.
	Slots slots.Texts
	// Log reads what stepgate keeps of the rollouts of an ApplicationSet, and Namespace is where it does.
	Log       func(ctx context.Context, set types.UID) (*ledger.Log, error)
	Namespace string
	// Gated reports whether a namespace is gated.
	Gated func(namespace string) bool
	Clock clock.PassiveClock
}

// Facts are what is known of the rollout of one Application.
type Facts struct {
	Options
	preview *webhook.Preview
	judged  *cache.LRUExpireCache
}

// NewFacts returns Facts, which judge as the gate with this configuration does.
func NewFacts(o Options) *Facts {
	preview := webhook.NewPreview(o.Config, judge.Dependencies{
		Live: rollout.NewEvaluator(o.Known), Known: o.Known, Histories: o.Known,
		Windows: judge.ProjectWindows{Known: o.Known}, Evidence: o.Evidence, Clock: o.Clock,
	}, o.Slots)
	return &Facts{Options: o, preview: preview, judged: cache.NewLRUExpireCache(mostKept)}
}

func (f *Facts) now() metav1.Time { return metav1.NewTime(f.Clock.Now()) }

// asked is the Application that somebody may get, and its ApplicationSet, which has no name where there is none.
type asked struct {
	app *argocd.Projection
	set *argocd.ApplicationSet
}

func (a asked) name() types.NamespacedName {
	return types.NamespacedName{Namespace: a.app.Namespace, Name: a.app.Name}
}

// Own asks for the order that an Application gives its children, and not for the one that it is in.
const Own = "own"

// asked finds what the headers of argocd-server name. order is Own or nothing.
func (f *Facts) asked(h http.Header, order string) (a asked, err error) {
	if !f.Known.Synced() {
		return a, &failure{http.StatusServiceUnavailable, "stepgate has not listed the Applications yet"}
	}
	namespace, name, ok := strings.Cut(one(h, ApplicationHeader), ":")
	project := one(h, ProjectHeader)
	if !ok || namespace == "" || name == "" || project == "" {
		return a, refused("the headers " + ApplicationHeader + ", NAMESPACE:NAME, and " + ProjectHeader + " are needed")
	}
	if !f.Gated(namespace) {
		return a, refused("stepgate does not gate the namespace " + policy.ClientText(namespace))
	}
	a.app = f.Known.Application(types.NamespacedName{Namespace: namespace, Name: name})
	if a.app == nil || a.app.Project != project {
		return a, refused(fmt.Sprintf("there is no Application %s in the namespace %s and the project %s",
			policy.ClientText(name), policy.ClientText(namespace), policy.ClientText(project)))
	}
	if order == Own {
		if a.set = f.orderBy(a.app); a.set == nil {
			return a, refused("the Application " + policy.ClientText(name) + " gives its children no order")
		}
		return a, nil
	}
	a.set = rollout.Order(f.Known, f.Config, a.app)
	switch {
	case a.set != nil:
		return a, nil
	case a.app.Controlled():
		return a, refused("the ApplicationSet that owns the Application " + policy.ClientText(name) + " does not exist")
	case a.app.FollowsAlone():
		a.set = argocd.Alone(namespace, a.app.UID, a.app.Annotations)
		return a, nil
	}
	return a, refused("no ApplicationSet owns the Application " + policy.ClientText(name) +
		", no parent orders it, and it comes after nothing")
}

// orderBy is the order that an Application gives its children; nil if it gives none.
func (f *Facts) orderBy(app *argocd.Projection) *argocd.ApplicationSet {
	if !f.Config.Waves || app.Waves == nil {
		return nil
	}
	order, _ := f.Known.Set(types.NamespacedName{Namespace: app.Namespace, Name: app.Waves.Name})
	return order
}

// alone reports whether nothing but itself says what the Application comes after.
func (a asked) alone() bool { return a.set.Name == "" }

// one is the value of a header; empty if there are several.
func one(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// rollout is the rollout of the ApplicationSet, or of the Application alone.
func (f *Facts) rollout(a asked) *rollout.Rollout {
	if known, ok := f.judged.Get(a.set.UID); ok {
		if r, ok := known.(*rollout.Rollout); ok {
			return r
		}
	}
	if a.alone() {
		r := rollout.JudgeAlone(f.preview, a.app)
		f.judged.Add(a.set.UID, r, sameFor)
		return r
	}
	r := rollout.Judge(f.preview.Outlook(a.set))
	f.addCandidates(r)
	f.judged.Add(a.set.UID, r, sameFor)
	return r
}

func (f *Facts) status(a asked) Status {
	r := f.rollout(a)
	s := Status{At: f.now(), Rollout: dashboard.RowOf(r)}
	if app, step := r.Shown(a.app.Member().Name); app != nil {
		s.Said = &dashboard.Said{Kind: app.Kind(), Text: app.Sentence()}
		if step != nil {
			s.Step, s.Wave = step.Number, step.Wave
		}
	}
	return s
}

// explain says whether a sync of the Application may start. It reads this Application live, and of other objects only the
// slots of its step.
func (f *Facts) explain(ctx context.Context, a asked) (*dashboard.Explained, error) {
	q, err := f.question(ctx, a.name())
	if err != nil {
		return nil, err
	}
	owner, _ := f.Config.Tracking.OwnerOf(q.App)
	if q.App.UID != a.app.UID || owner != a.app.Member().Owner || argocd.ProjectOf(q.App) != a.app.Project {
		return nil, refused("the Application has just changed its owner or its project")
	}
	x, err := rollout.Explain(ctx, f.preview, f.Known, q)
	if err != nil {
		return nil, err
	}
	if x.HasCandidates() {
		if x.Candidates, err = f.candidates(q); err != nil {
			return nil, err
		}
	}
	return &dashboard.Explained{
		Explanation: x, Verdict: x.Verdict(), Lines: x.Lines(screen.Screen{Width: explainWidth}, f.Clock.Now()),
	}, nil
}

// history is what stepgate keeps of the rollouts of the ApplicationSet.
func (f *Facts) history(ctx context.Context, a asked) (*dashboard.History, error) {
	if a.alone() {
		return dashboard.NoHistory("stepgate keeps the history of ApplicationSets only.", f.now()), nil
	}
	log, err := f.Log(ctx, types.UID(a.set.UID))
	if errors.Is(err, history.ErrForbidden) {
		return dashboard.NoHistory("stepgate's reporter may not get ConfigMaps in namespace "+f.Namespace+
			": its chart gives it this right where config.ledger is true.", f.now()), nil
	}
	return dashboard.HistoryOf(log, err, f.Namespace, f.now())
}

func (f *Facts) question(ctx context.Context, name types.NamespacedName) (q rollout.Question, err error) {
	q = rollout.Question{
		Live: &unstructured.Unstructured{}, App: &argo.Application{}, Config: f.Config,
		By: "the settings of the stepgate that answers",
	}
	q.Live.SetGroupVersionKind(argo.ApplicationSchemaGroupVersionKind)
	if err := f.Objects.Get(ctx, name, q.Live); err != nil {
		return q, fmt.Errorf("get Application %s: %w", name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(q.Live.Object, q.App); err != nil {
		return q, fmt.Errorf("read Application %s: %w", name, err)
	}
	return q, nil
}
