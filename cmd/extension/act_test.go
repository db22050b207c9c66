// SPDX-License-Identifier: Apache-2.0

package extension_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/stepgate/stepgate/cmd/dashboard"
	. "github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/settings"
)

const actSecret = "the secret of those who act"

// gated is a world in which step 3 needs an approval, and in which a gate records whom the field manager names.
type gated struct {
	*world
	act      string
	managers []string
}

func newGated(t *testing.T) *gated {
	t.Helper()
	g := NewWithT(t)
	w := &gated{world: newWorld(t), act: filepath.Join(t.TempDir(), "act")}
	g.Expect(os.WriteFile(w.act, []byte(actSecret), 0o600)).To(Succeed())
	set := guestbook.Set("argocd")
	set.UID, set.Annotations = "set", map[string]string{settings.ApproveAnnotation: "3"}
	w.Add(set)
	g.Expect(w.objects.Create(t.Context(), set)).To(Succeed())
	w.objects = interceptor.NewClient(w.objects, interceptor.Funcs{Patch: w.patch})
	return w
}

func (w *gated) patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, all ...client.PatchOption) error {
	options := (&client.PatchOptions{}).ApplyOptions(all)
	w.managers = append(w.managers, options.FieldManager)
	before := &argo.ApplicationSet{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), before); err != nil {
		return err
	}
	if err := c.Patch(ctx, o, p); err != nil {
		return err
	}
	user, err := approval.UserOf(options.FieldManager)
	if err != nil {
		return err
	}
	o.SetAnnotations(approval.Mutate(before.Annotations, o.GetAnnotations(), user, now))
	stored := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is an ApplicationSet
	if slices.Contains(options.DryRun, "All") {
		stored = before
		stored.SetResourceVersion(o.GetResourceVersion())
	}
	return c.Update(ctx, stored)
}

func (w *gated) handler() http.Handler {
	return New(NewFacts(Options{
		Config: w.config(), Known: w, Objects: w.objects, Writes: w.objects,
		Gated: func(namespace string) bool { return namespace == "argocd" }, Clock: clocktesting.NewFakePassiveClock(now),
	}), Tokens{Read: w.token, Act: w.act}, logr.Discard())
}

func (w *gated) annotations(t *testing.T) map[string]string {
	t.Helper()
	set := &argo.ApplicationSet{}
	key := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	NewWithT(t).Expect(w.objects.Get(t.Context(), key, set)).To(Succeed())
	return set.Annotations
}

// acting are the headers of argocd-server for carol.
func acting(edit ...func(http.Header)) http.Header {
	h := headers("argocd:engineering-prod-guestbook", "default")
	h.Set(TokenHeader, actSecret)
	h.Set(UserHeader, "carol@example.com")
	h.Set("Content-Type", "application/json")
	for _, e := range edit {
		e(h)
	}
	return h
}

func post(t *testing.T, handler http.Handler, body any, h http.Header) *httptest.ResponseRecorder {
	t.Helper()
	text, is := body.(string)
	if !is {
		text = mustJSON(body)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/actions", bytes.NewBufferString(text))
	r.Header = h
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// done is the answer to an action of carol.
func done(t *testing.T, handler http.Handler, a dashboard.Action) (answer dashboard.Answer) {
	t.Helper()
	g := NewWithT(t)
	a.Namespace, a.Name = "argocd", "guestbook"
	w := post(t, handler, a, acting())
	g.Expect(w.Code).To(Equal(http.StatusOK), w.Body.String())
	g.Expect(json.Unmarshal(w.Body.Bytes(), &answer)).To(Succeed())
	return answer
}

// TestActing pauses, resumes and approves for a user of Argo CD, with a dry run first.
func TestActing(t *testing.T) {
	g := NewWithT(t)
	w := newGated(t)
	handler, before := w.handler(), w.annotations(t)
	g.Expect(read[dashboard.Detail](t, handler, "/api/v1/rollout", "prod").Rights).
		To(Equal(dashboard.Rights{Annotate: true}))

	pause := dashboard.Action{Verb: dashboard.Pause, Reason: "INC-1", DryRun: true}
	g.Expect(done(t, handler, pause)).To(And(HaveField("OK", true),
		HaveField("Command", "stepgate pause guestbook -n argocd --reason INC-1"),
		HaveField("Lines", ContainElement("This was a server dry run: nothing is stored."))))
	g.Expect(w.annotations(t)).To(Equal(before))
	pause.DryRun = false
	g.Expect(done(t, handler, pause).OK).To(BeTrue())
	g.Expect(w.annotations(t)).To(And(HaveKeyWithValue(settings.PauseAnnotation, "all: INC-1"),
		HaveKeyWithValue(settings.PausedByAnnotation, HavePrefix("argocd:carol@example.com at "))))
	g.Expect(done(t, handler, dashboard.Action{Verb: dashboard.Resume}).OK).To(BeTrue())
	g.Expect(w.annotations(t)).To(Equal(before))

	approve := dashboard.Action{Verb: dashboard.Approve, Step: 3, DryRun: true}
	shown := done(t, handler, approve)
	g.Expect(shown.Approves).To(Equal([]string{guestbook.NewCommit}))
	g.Expect(w.annotations(t)).To(Equal(before))
	approve.DryRun, approve.Approves = false, []string{"something else"}
	g.Expect(done(t, handler, approve)).To(And(HaveField("OK", false),
		HaveField("Lines", ContainElement(ContainSubstring("has changed meanwhile")))))
	g.Expect(w.annotations(t)).To(Equal(before))
	approve.Approves = shown.Approves
	g.Expect(done(t, handler, approve)).To(And(HaveField("OK", true),
		HaveField("Lines", ContainElement("Approved by argocd:carol@example.com at 2026-11-22T20:31:07Z."))))
	g.Expect(w.annotations(t)).To(HaveKeyWithValue(settings.ApprovedByAnnotation, ContainSubstring(`"by":"argocd:carol@example.com"`)))
	g.Expect(w.managers).To(HaveEach("argocd:carol@example.com"))
}

// TestWhoMayAct: nobody but argocd-server, for a user whom it names, and about the ApplicationSet that it has checked.
func TestWhoMayAct(t *testing.T) {
	pause := dashboard.Action{Verb: dashboard.Pause, Namespace: "argocd", Name: "guestbook"}
	with := func(edit func(*dashboard.Action)) dashboard.Action {
		a := pause
		edit(&a)
		return a
	}
	user := func(names ...string) http.Header {
		return acting(func(h http.Header) { h[UserHeader] = names })
	}
	const (
		wrong  = "the header Stepgate-Token is wrong: argocd-server and stepgate need the same secret"
		nobody = "no name of yours comes from Argo CD, so stepgate cannot act for you"
		name   = "your name in Argo CD has a space, or a character that is not of ASCII, so stepgate cannot act for you"
	)
	for title, tc := range map[string]struct {
		body    any
		headers http.Header
		before  func(*gated)
		code    int
		text    string
	}{
		"no secret":                      {headers: acting(func(h http.Header) { h.Del(TokenHeader) }), code: 403, text: "the header Stepgate-Token is missing: ask argocd-server"},
		"another secret":                 {headers: acting(func(h http.Header) { h.Set(TokenHeader, "guessed") }), code: 403, text: wrong},
		"the secret of those who look":   {headers: acting(func(h http.Header) { h.Set(TokenHeader, secret) }), code: 403, text: wrong},
		"one secret for both":            {before: func(w *gated) { _ = os.WriteFile(w.token, []byte(actSecret), 0o600) }, code: 503, text: "nobody may act: the extensions stepgate and stepgate-act have the same secret, and need two"},
		"no file":                        {before: func(w *gated) { _ = os.Remove(w.act) }, code: 503, text: "stepgate has no secret to know argocd-server by: the file of --ui-act-token-file is missing or empty"},
		"nobody":                         {headers: user(), code: 403, text: nobody},
		"two names":                      {headers: user("carol", "admin"), code: 403, text: nobody},
		"a name with a space":            {headers: user("carol at noon"), code: 403, text: name},
		"a name with a letter like a":    {headers: user("c\u0430rol"), code: 403, text: name},
		"a very long name":               {headers: user(strings.Repeat("x", 122)), code: 403, text: "your name in Argo CD has more than 121 characters, so stepgate cannot act for you"},
		"an Application of none":         {headers: acting(func(h http.Header) { h.Set(ApplicationHeader, "argocd:engineering-alone-guestbook") }), code: 403, text: "no ApplicationSet owns the Application engineering-alone-guestbook, no parent orders it, and it comes after nothing"},
		"another ApplicationSet":         {body: with(func(a *dashboard.Action) { a.Name = "shop" }), code: 400, text: "the Application that Argo CD has checked is not one of this ApplicationSet"},
		"another namespace":              {body: with(func(a *dashboard.Action) { a.Namespace = "team" }), code: 400, text: "the Application that Argo CD has checked is not one of this ApplicationSet"},
		"what nobody was shown":          {body: with(func(a *dashboard.Action) { a.Verb = dashboard.Approve }), code: 400, text: "stepgate approves here what somebody was shown before: ask for a dry run first"},
		"a revision of the browser":      {body: with(func(a *dashboard.Action) { a.Verb, a.Revision = dashboard.Approve, "x" }), code: 400, text: "stepgate approves here what the step would deploy, and nothing else"},
		"a very long reason":             {body: with(func(a *dashboard.Action) { a.Reason = strings.Repeat("x", 201) }), code: 400, text: "the reason is too long, or has a character that cannot be shown"},
		"a reason of two lines":          {body: with(func(a *dashboard.Action) { a.Reason = "a\nb" }), code: 400, text: "the reason is too long, or has a character that cannot be shown"},
		"a field that there is not":      {body: `{"verb":"pause","as":"admin"}`, code: 400, text: "this is no action"},
		"a body without an end":          {body: `{"reason":"` + strings.Repeat("x", 64<<10), code: 400, text: "this is no action"},
		"what a form of a browser posts": {headers: acting(func(h http.Header) { h.Set("Content-Type", "text/plain") }), code: 415, text: "an action is JSON"},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			w := newGated(t)
			before := w.annotations(t)
			if tc.before != nil {
				tc.before(w)
			}
			if tc.headers == nil {
				tc.headers = acting()
			}
			if tc.body == nil {
				tc.body = pause
			}
			answer := post(t, w.handler(), tc.body, tc.headers)
			g.Expect(answer.Code).To(Equal(tc.code), answer.Body.String())
			g.Expect(answer.Body.String()).To(MatchJSON(mustJSON(dashboard.Failure{Error: tc.text})))
			g.Expect(w.annotations(t)).To(Equal(before))
			g.Expect(w.managers).To(BeEmpty())
		})
	}
}

// TestTheGroupsOfABrowserDoNotCount: argocd-server lets the header through for a user who has no groups.
func TestTheGroupsOfABrowserDoNotCount(t *testing.T) {
	g := NewWithT(t)
	w := newGated(t)
	h := acting(func(h http.Header) { h.Set("Argocd-User-Groups", "system:masters") })
	body := dashboard.Action{Verb: dashboard.Pause, Namespace: "argocd", Name: "guestbook"}
	g.Expect(post(t, w.handler(), body, h).Code).To(Equal(200))
	g.Expect(w.managers).To(Equal([]string{"argocd:carol@example.com"}))
}

// TestNothingElse: no other verb, and nothing at all where it is switched off, or for who may only look.
func TestNothingElse(t *testing.T) {
	g := NewWithT(t)
	w := newGated(t)
	for _, verb := range []dashboard.Verb{dashboard.Refresh, "delete", ""} {
		g.Expect(done(t, w.handler(), dashboard.Action{Verb: verb})).To(And(HaveField("OK", false),
			HaveField("Lines", ConsistOf("stepgate pauses, resumes and approves here, and does nothing else"))))
	}
	body := dashboard.Action{Verb: dashboard.Pause, Namespace: "argocd", Name: "guestbook"}
	h := acting(func(h http.Header) { h.Set(TokenHeader, secret) })
	g.Expect(post(t, w.serve(w.objects), body, h).Code).To(Equal(404), "switched off")
	look := ask(t, w.handler(), http.MethodGet, "/api/v1/rollout", acting())
	g.Expect(look.Code).To(Equal(403), "the secret of those who act")
	g.Expect(w.managers).To(BeEmpty())
}
