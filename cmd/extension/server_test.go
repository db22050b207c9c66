// SPDX-License-Identifier: Apache-2.0

package extension_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/stepgate/stepgate/cmd/dashboard"
	. "github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/settings"
)

// now is when everything is looked at.
var now = time.Date(2026, 11, 22, 20, 31, 7, 0, time.UTC)

const secret = "the secret of both"

// world is a cluster with the rollout guestbook: dev is at work, qa and prod wait.
type world struct {
	*rollout.Snapshot
	apps     map[types.NamespacedName]*argocd.Projection
	objects  client.WithWatch
	unlisted bool
	waves    bool
	token    string
	presence settings.Presence
	log      func() (*ledger.Log, error)
}

func (w *world) Application(name types.NamespacedName) *argocd.Projection { return w.apps[name] }
func (w *world) Synced() bool                                             { return !w.unlisted }

func config() settings.Config {
	return settings.Config{Hold: true, Release: true, ServerAccounts: []string{"argocd-server"}}
}

// config is the configuration of the gate. Its Presence is what the test sets.
func (w *world) config() settings.Config {
	c := config()
	c.Presence = func(string) settings.Presence { return w.presence }
	c.Waves = w.waves
	return c
}

func newWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	set := guestbook.Set("argocd")
	set.UID = "set"
	var apps []*argo.Application
	for i, env := range []string{"dev", "qa", "prod"} {
		app := guestbook.Application(set, env)
		app.UID, app.ResourceVersion = types.UID(env), "1"
		app.Operation = guestbook.RollingSync()
		guestbook.Start(app, now.Add(-20*time.Minute))
		guestbook.Finish(app, now.Add(-19*time.Minute), guestbook.OldCommit)
		state, sync := health.HealthStatusHealthy, argo.SyncStatusCodeOutOfSync
		if i == 0 {
			guestbook.Finish(started(app), now.Add(-3*time.Minute), guestbook.NewCommit)
			state, sync = health.HealthStatusProgressing, argo.SyncStatusCodeSynced
		}
		guestbook.Compare(app, now.Add(-2*time.Minute), guestbook.NewCommit, sync, state)
		apps = append(apps, app)
	}
	alone := guestbook.Application(set, "alone")
	alone.OwnerReferences = nil
	orphan := guestbook.Application(set, "orphan")
	orphan.OwnerReferences[0].UID = "another"
	stranger := guestbook.Application(set, "stranger")
	stranger.Namespace = "team"
	w := &world{
		Snapshot: rollout.NewSnapshot(), apps: map[types.NamespacedName]*argocd.Projection{},
		token: filepath.Join(t.TempDir(), "token"),
	}
	w.Add(set, apps...)
	objects := fake.NewClientBuilder().WithScheme(scheme)
	for _, app := range append(apps, alone, orphan, stranger) {
		w.apps[types.NamespacedName{Namespace: app.Namespace, Name: app.Name}] = argocd.NewProjection(app)
		objects = objects.WithObjects(app)
	}
	w.objects = objects.Build()
	g.Expect(os.WriteFile(w.token, []byte(secret+"\n"), 0o600)).To(Succeed())
	return w
}

// started has a second operation under way.
func started(app *argo.Application) *argo.Application {
	app.Operation = guestbook.RollingSync()
	guestbook.Start(app, now.Add(-4*time.Minute))
	return app
}

func (w *world) serve(objects client.Reader) http.Handler {
	return New(NewFacts(Options{
		Config: w.config(), Known: w, Objects: objects, Gated: func(namespace string) bool { return namespace == "argocd" },
		Clock: clocktesting.NewFakePassiveClock(now), Namespace: "stepgate",
		Log: func(context.Context, types.UID) (*ledger.Log, error) { return w.log() },
	}), Tokens{Read: w.token}, logr.Discard())
}

// headers are those of argocd-server for an Application.
func headers(app, project string) http.Header {
	h := http.Header{}
	h.Set(TokenHeader, secret)
	h.Set(ApplicationHeader, app)
	h.Set(ProjectHeader, project)
	return h
}

func ask(t *testing.T, handler http.Handler, method, path string, h http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Header = h
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// read reads an answer.
func read[T any](t *testing.T, handler http.Handler, path, app string) (into T) {
	t.Helper()
	g := NewWithT(t)
	w := ask(t, handler, http.MethodGet, path, headers("argocd:engineering-"+app+"-guestbook", "default"))
	g.Expect(w.Code).To(Equal(http.StatusOK), w.Body.String())
	g.Expect(json.Unmarshal(w.Body.Bytes(), &into)).To(Succeed())
	return into
}

// TestWhoMayAsk: argocd-server, about an Application that it names, and about the ApplicationSet of that alone.
func TestWhoMayAsk(t *testing.T) {
	prod := "argocd:engineering-prod-guestbook"
	with := func(edit func(http.Header)) http.Header {
		h := headers(prod, "default")
		edit(h)
		return h
	}
	for name, tc := range map[string]struct {
		headers http.Header
		before  func(*world)
		code    int
		text    string
	}{
		"no secret": {
			headers: with(func(h http.Header) { h.Del(TokenHeader) }), code: 403, text: "the header Stepgate-Token is missing: ask argocd-server",
		},
		"another secret": {
			headers: with(func(h http.Header) { h.Set(TokenHeader, secret+"x") }), code: 403,
			text: "the header Stepgate-Token is wrong: argocd-server and stepgate need the same secret",
		},
		"an empty secret": {
			headers: with(func(h http.Header) { h.Set(TokenHeader, "") }), code: 403,
			text: "the header Stepgate-Token is wrong: argocd-server and stepgate need the same secret",
		},
		"two secrets": {
			headers: with(func(h http.Header) { h.Add(TokenHeader, secret) }), code: 403,
			text: "the header Stepgate-Token is wrong: argocd-server and stepgate need the same secret",
		},
		"an empty file, and an empty secret": {
			headers: with(func(h http.Header) { h.Set(TokenHeader, "") }), before: func(w *world) { _ = os.WriteFile(w.token, []byte("\n"), 0o600) },
			code: 503, text: "stepgate has no secret to know argocd-server by: the file of --ui-token-file is missing or empty",
		},
		"no file": {
			headers: headers(prod, "default"), before: func(w *world) { _ = os.Remove(w.token) },
			code: 503, text: "stepgate has no secret to know argocd-server by: the file of --ui-token-file is missing or empty",
		},
		"before the first lists": {
			headers: headers(prod, "default"), before: func(w *world) { w.unlisted = true }, code: 503,
			text: "stepgate has not listed the Applications yet",
		},
		"no Application": {
			headers: with(func(h http.Header) { h.Del(ApplicationHeader) }), code: 403,
			text: "the headers Argocd-Application-Name, NAMESPACE:NAME, and Argocd-Project-Name are needed",
		},
		"no project": {
			headers: with(func(h http.Header) { h.Del(ProjectHeader) }), code: 403,
			text: "the headers Argocd-Application-Name, NAMESPACE:NAME, and Argocd-Project-Name are needed",
		},
		"two Applications": {
			headers: with(func(h http.Header) { h.Add(ApplicationHeader, "argocd:engineering-dev-guestbook") }), code: 403,
			text: "the headers Argocd-Application-Name, NAMESPACE:NAME, and Argocd-Project-Name are needed",
		},
		"an Application without its namespace": {
			headers: headers("engineering-prod-guestbook", "default"), code: 403,
			text: "the headers Argocd-Application-Name, NAMESPACE:NAME, and Argocd-Project-Name are needed",
		},
		"an unknown Application": {
			headers: headers("argocd:nobody", "default"), code: 403,
			text: "there is no Application nobody in the namespace argocd and the project default",
		},
		"another project": {
			headers: headers(prod, "team-a"), code: 403,
			text: "there is no Application engineering-prod-guestbook in the namespace argocd and the project team-a",
		},
		"another namespace, which is not gated": {
			headers: headers("team:engineering-stranger-guestbook", "default"), code: 403, text: "stepgate does not gate the namespace team",
		},
		"an Application of no ApplicationSet": {
			headers: headers("argocd:engineering-alone-guestbook", "default"), code: 403,
			text: "no ApplicationSet owns the Application engineering-alone-guestbook, no parent orders it, and it comes after nothing",
		},
		"an Application of an ApplicationSet of the past": {
			headers: headers("argocd:engineering-orphan-guestbook", "default"), code: 403,
			text: "the ApplicationSet that owns the Application engineering-orphan-guestbook does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t)
			if tc.before != nil {
				tc.before(w)
			}
			handler := w.serve(w.objects)
			for _, path := range []string{"/api/v1/rollout", "/api/v1/status", "/api/v1/explanation", "/api/v1/history"} {
				answer := ask(t, handler, http.MethodGet, path, tc.headers.Clone())
				g.Expect(answer.Code).To(Equal(tc.code), path)
				g.Expect(answer.Body.String()).To(MatchJSON(mustJSON(dashboard.Failure{Error: tc.text})), path)
			}
		})
	}
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestTheSecretMayChange while stepgate runs.
func TestTheSecretMayChange(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	handler := w.serve(w.objects)
	h := headers("argocd:engineering-prod-guestbook", "default")
	g.Expect(os.WriteFile(w.token, []byte("another"), 0o600)).To(Succeed())
	g.Expect(ask(t, handler, http.MethodGet, "/api/v1/status", h).Code).To(Equal(403))
	h.Set(TokenHeader, "another")
	g.Expect(ask(t, handler, http.MethodGet, "/api/v1/status", h).Code).To(Equal(200))
}

// TestOnlyReadingAndOnlyThese: no other method and no other path has an answer.
func TestOnlyReadingAndOnlyThese(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	handler, h := w.serve(w.objects), headers("argocd:engineering-prod-guestbook", "default")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		g.Expect(ask(t, handler, method, "/api/v1/rollout", h).Code).To(Equal(405), method)
	}
	for _, path := range []string{"/", "/api/v1/rollouts", "/api/v1/rollout/argocd/other", "/metrics", "/api/overview"} {
		g.Expect(ask(t, handler, http.MethodGet, path, h).Code).To(Equal(404), path)
	}
}

// TestTheSameWordsAsTheCommandLine of `stepgate get` and `stepgate explain`.
func TestTheSameWordsAsTheCommandLine(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	handler := w.serve(w.objects)
	preview := webhook.NewPreview(config(), judge.Dependencies{
		Live: rollout.NewEvaluator(w), Known: w, Histories: w, Clock: clocktesting.NewFakePassiveClock(now),
	}, nil)
	want := rollout.Judge(preview.Outlook(w.Sets()[0]))

	d := read[dashboard.Detail](t, handler, "/api/v1/rollout", "prod")
	shown := dashboard.DetailAt(want, d.At, d.Rights)
	g.Expect(mustJSON(d.Rollout)).To(MatchJSON(mustJSON(shown.Rollout)))
	g.Expect(d.Rollout.Steps[2].Applications[0].WaitsFor).To(BeEmpty(), "a sentence names the first ones")
	g.Expect(d.Rollout.Needs).To(Equal(want.Needs))
	g.Expect(d.At).To(Equal(metav1.NewTime(now.Local())))
	g.Expect(d.Rights).To(BeZero(), "nothing may be written")
	g.Expect(d.Said["engineering-prod-guestbook"].Text).To(Equal("waits for engineering-dev-guestbook and 1 more"))
	tree := strings.Join(want.Tree(screen.Screen{Width: 200}, now, true), "\n")
	for name, said := range d.Said {
		g.Expect(tree).To(ContainSubstring(said.Text), name)
	}

	s := read[Status](t, handler, "/api/v1/status", "prod")
	g.Expect(s.Step).To(Equal(3))
	g.Expect(*s.Said).To(Equal(d.Said["engineering-prod-guestbook"]))
	g.Expect(s.Rollout.Need.Text).To(Equal(want.Needs[0].Text))

	x := read[dashboard.Explained](t, handler, "/api/v1/explanation", "prod")
	g.Expect(x.Explanation.Outcome).To(Equal(rollout.Held))
	g.Expect(x.Explanation.ApplicationSet).To(Equal("argocd/guestbook"))
	g.Expect(x.Explanation.Step).To(Equal(3))
	g.Expect(x.Explanation.Steps).To(Equal(3))
	g.Expect(x.Verdict).To(Equal(x.Explanation.Verdict()))
	g.Expect(x.Explanation.Blockers).To(HaveLen(2))
	g.Expect(x.Lines).To(Equal(x.Explanation.Lines(screen.Screen{Width: 80}, now)))
	g.Expect(strings.Join(x.Lines, "\n")).To(And(
		ContainSubstring("1. engineering-dev-guestbook (NotHealthy: Progressing)"),
		ContainSubstring("Judged by     the settings of the stepgate that answers"),
	))
}

// TestAnApplicationThatChangesItsProject is not explained to who could get it before.
func TestAnApplicationThatChangesItsProject(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	var app argo.Application
	key := types.NamespacedName{Namespace: "argocd", Name: "engineering-prod-guestbook"}
	g.Expect(w.objects.Get(t.Context(), key, &app)).To(Succeed())
	app.Spec.Project = "secret"
	g.Expect(w.objects.Update(t.Context(), &app)).To(Succeed())
	answer := ask(t, w.serve(w.objects), http.MethodGet, "/api/v1/explanation",
		headers(key.Namespace+":"+key.Name, "default"))
	g.Expect(answer.Code).To(Equal(403))
	g.Expect(answer.Body.String()).To(ContainSubstring("has just changed its owner or its project"))
}

// broken is an API server that does not answer.
type broken struct{ client.Reader }

func (broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("dial tcp 10.0.0.1:443: i/o timeout")
}

// TestAnErrorTellsNothing of the cluster, and the rollout is still shown.
func TestAnErrorTellsNothing(t *testing.T) {
	g := NewWithT(t)
	handler, h := newWorld(t).serve(broken{}), headers("argocd:engineering-prod-guestbook", "default")
	answer := ask(t, handler, http.MethodGet, "/api/v1/explanation", h)
	g.Expect(answer.Code).To(Equal(502))
	g.Expect(answer.Body.String()).To(And(ContainSubstring("its log says why"), Not(ContainSubstring("10.0.0.1"))))
	g.Expect(ask(t, handler, http.MethodGet, "/api/v1/rollout", h).Code).To(Equal(200))
}

// slow is an API server that answers when it is told to.
type slow struct {
	client.Reader
	asked, answer chan struct{}
}

func (s slow) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	s.asked <- struct{}{}
	<-s.answer
	return errors.New("too late")
}

// TestFewAtATime: the fifth request at once is refused, and one without the secret takes nobody's place.
func TestFewAtATime(t *testing.T) {
	g := NewWithT(t)
	reader := slow{asked: make(chan struct{}), answer: make(chan struct{})}
	handler, h := newWorld(t).serve(reader), headers("argocd:engineering-prod-guestbook", "default")
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { ask(t, handler, http.MethodGet, "/api/v1/explanation", h) })
		<-reader.asked
	}
	answer := ask(t, handler, http.MethodGet, "/api/v1/status", h)
	g.Expect(answer.Code).To(Equal(429))
	g.Expect(answer.Header().Get("Retry-After")).To(Equal("1"))
	g.Expect(ask(t, handler, http.MethodGet, "/api/v1/status", http.Header{}).Code).To(Equal(403))
	close(reader.answer)
	running.Wait()
	g.Expect(ask(t, handler, http.MethodGet, "/api/v1/status", h).Code).To(Equal(200))
}

// TestCandidates of a rollout whose steps take what the earlier ones have completed.
func TestCandidates(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	set := guestbook.Set("argocd")
	set.UID, set.Annotations = "set", map[string]string{settings.PinAnnotation: "candidate"}
	w.Add(set)
	d := read[dashboard.Detail](t, w.serve(w.objects), "/api/v1/rollout", "prod")
	g.Expect(d.Rollout.Problems).To(BeEmpty())
	g.Expect(d.Rollout.Steps[2].Candidate).NotTo(BeNil())
	x := read[dashboard.Explained](t, w.serve(w.objects), "/api/v1/explanation", "prod")
	g.Expect(x.Explanation.Candidates).NotTo(BeEmpty())
	unread := read[dashboard.Detail](t, w.serve(broken{}), "/api/v1/rollout", "prod")
	g.Expect(unread.Rollout.Problems).To(ConsistOf(
		"the candidates of engineering-qa-guestbook are not shown: the Application could not be read"))
}

// TestWhatComesAfter has an Application of an ApplicationSet without steps, and one that no ApplicationSet controls, wait
// for the guestbook, in the words of explain.
func TestWhatComesAfter(t *testing.T) {
	for name, alone := range map[string]bool{"of an ApplicationSet without steps": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t)
			shop := guestbook.Set("argocd")
			shop.Name, shop.UID, shop.Spec.Strategy = "shop", "shop", nil
			app := guestbook.Application(shop, "shop")
			app.UID, app.ResourceVersion = "app", "1"
			guestbook.Compare(app, now.Add(-2*time.Minute), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, "Healthy")
			after := map[string]string{argocd.AfterAnnotation: "guestbook"}
			shown := shop.Name
			if alone {
				app.OwnerReferences, app.Annotations, shown = nil, after, app.Name
			} else {
				shop.Annotations = after
			}
			w.Add(shop, app)
			w.apps[types.NamespacedName{Namespace: app.Namespace, Name: app.Name}] = argocd.NewProjection(app)
			g.Expect(w.objects.Create(t.Context(), withoutVersion(app))).To(Succeed())
			handler := w.serve(w.objects)

			s := read[Status](t, handler, "/api/v1/status", "shop")
			g.Expect(s.Said).To(HaveValue(Equal(dashboard.Said{
				Kind: rollout.KindWaits, Text: "waits for engineering-prod-guestbook and 2 more",
			})))
			g.Expect(s.Step).To(BeZero())
			g.Expect(s.Rollout.Name).To(Equal(shown))
			g.Expect(s.Rollout.Phase).To(Equal(rollout.Ungated))
			g.Expect(s.Rollout.Need.Text).To(Equal("engineering-dev-guestbook (NotHealthy: Progressing)"))

			d := read[dashboard.Detail](t, handler, "/api/v1/rollout", "shop")
			g.Expect(d.Rollout.Name).To(Equal(shown))
			g.Expect(d.Rollout.Alone).To(Equal(alone))
			g.Expect(d.Rollout.WaitAfter).To(ConsistOf("engineering-shop-guestbook"))
			g.Expect(d.Rollout.After).To(ConsistOf(HaveField("Name", "guestbook")))
			g.Expect(d.Rollout.Needs).NotTo(BeEmpty())

			x := read[dashboard.Explained](t, handler, "/api/v1/explanation", "shop")
			g.Expect(x.Explanation.Reason).To(Equal("DependencyNotDone"))
			var blockers []string
			for _, b := range x.Explanation.Blockers {
				blockers = append(blockers, b.Application)
			}
			g.Expect(blockers).To(ContainElement("engineering-prod-guestbook"))
			g.Expect(blockers).To(HaveLen(3))
		})
	}
}

// withoutVersion is an object to be created.
func withoutVersion(app *argo.Application) *argo.Application {
	other := app.DeepCopy()
	other.ResourceVersion = ""
	return other
}
