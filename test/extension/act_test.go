// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/settings"
)

var guestbookKey = client.ObjectKey{Namespace: cluster.ArgoNamespace, Name: "guestbook"}

// annotated has annotations written into the ApplicationSet, and taken out after the test.
func annotated(t *testing.T, annotations map[string]any) {
	t.Helper()
	write := func(annotations map[string]any) {
		err := shared.Admin.Patch(t.Context(), guestbook.Set(cluster.ArgoNamespace), annotationsOf(annotations))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	write(annotations)
	none := map[string]any{}
	for _, name := range []string{settings.PauseAnnotation, settings.PausedByAnnotation, settings.ApproveAnnotation,
		settings.ApprovedAnnotation, settings.ApprovedByAnnotation} {
		none[name] = nil
	}
	t.Cleanup(func() {
		_ = shared.Admin.Patch(context.Background(), guestbook.Set(cluster.ArgoNamespace), annotationsOf(none))
	})
}

func annotationsOf(annotations map[string]any) client.Patch {
	text, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	return client.RawPatch("application/merge-patch+json", text)
}

func annotations(t *testing.T) map[string]string {
	t.Helper()
	set := &argo.ApplicationSet{}
	NewWithT(t).Expect(shared.Admin.Get(t.Context(), guestbookKey, set)).To(Succeed())
	return set.Annotations
}

// acted has an account act through argocd-server, with more headers of its browser.
func acted(t *testing.T, account, name string, a dashboard.Action, headers map[string]string) (int, string) {
	t.Helper()
	a.Namespace, a.Name = guestbookKey.Namespace, guestbookKey.Name
	body, err := json.Marshal(a)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	all := with(of(prod, "default"), "Content-Type", "application/json")
	for key, value := range headers {
		all[key] = value
	}
	return send(t, account, http.MethodPost, server.URL+"/extensions/"+name+"/api/v1/actions", all, string(body))
}

func answered(t *testing.T, account string, a dashboard.Action) (answer dashboard.Answer) {
	t.Helper()
	g := NewWithT(t)
	code, text := acted(t, account, "stepgate-act", a, nil)
	g.Expect(code).To(Equal(200), text)
	g.Expect(json.Unmarshal([]byte(text), &answer)).To(Succeed())
	return answer
}

// TestActingThroughArgoCD: who is on call pauses and resumes, and who may release approves.
func TestActingThroughArgoCD(t *testing.T) {
	g := NewWithT(t)
	annotated(t, map[string]any{settings.ApproveAnnotation: "3"})
	pause := dashboard.Action{Verb: dashboard.Pause, Reason: "INC-1", DryRun: true}
	g.Expect(answered(t, "oncall", pause).OK).To(BeTrue())
	g.Expect(annotations(t)).NotTo(HaveKey(settings.PauseAnnotation))
	pause.DryRun = false
	g.Expect(answered(t, "oncall", pause)).To(HaveField("OK", true))
	g.Expect(annotations(t)).To(And(HaveKeyWithValue(settings.PauseAnnotation, "all: INC-1"),
		HaveKeyWithValue(settings.PausedByAnnotation, HavePrefix("argocd:oncall at "))))
	g.Expect(answered(t, "releaser", dashboard.Action{Verb: dashboard.Resume})).To(HaveField("OK", true))
	g.Expect(annotations(t)).NotTo(Or(HaveKey(settings.PauseAnnotation), HaveKey(settings.PausedByAnnotation)))

	approve := dashboard.Action{Verb: dashboard.Approve, Step: 3, DryRun: true}
	var shown dashboard.Answer
	g.Eventually(func(g Gomega) { // the reporter's watch follows
		shown = answered(t, "releaser", approve)
		g.Expect(shown.Approves).To(Equal([]string{guestbook.NewCommit}), "%q", shown.Lines)
	}, "10s").Should(Succeed())
	approve.DryRun, approve.Approves = false, shown.Approves
	refused := answered(t, "oncall", approve)
	g.Expect(refused.OK).To(BeFalse())
	g.Expect(refused.Lines).To(ContainElement(ContainSubstring("argocd:oncall may not approve step 3 of ")))
	g.Expect(annotations(t)).NotTo(HaveKey(settings.ApprovedAnnotation))
	g.Expect(answered(t, "releaser", approve)).To(HaveField("OK", true))
	g.Expect(annotations(t)).To(And(HaveKeyWithValue(settings.ApprovedAnnotation, "3@"+guestbook.NewCommit),
		HaveKeyWithValue(settings.ApprovedByAnnotation, ContainSubstring(`"by":"argocd:releaser"`))))
}

// TestForgedHeaders: a browser names itself another who may approve, and groups that it has not. argocd-server overwrites
// the name, and lets the groups through; nobody believes them.
func TestForgedHeaders(t *testing.T) {
	g := NewWithT(t)
	annotated(t, map[string]any{settings.ApproveAnnotation: "3"})
	forged := map[string]string{
		extension.UserHeader: "releaser", "Argocd-User-Id": "releaser", "Argocd-User-Groups": "system:masters,stepgate-act",
		extension.TokenHeader: "guessed",
	}
	approve := dashboard.Action{Verb: dashboard.Approve, Step: 3, Approves: []string{guestbook.NewCommit}}
	g.Eventually(func(g Gomega) {
		code, text := acted(t, "oncall", "stepgate-act", approve, forged)
		g.Expect(code).To(Equal(200), text)
		g.Expect(text).To(ContainSubstring("argocd:oncall may not approve step 3"))
	}, "10s").Should(Succeed())
	g.Expect(annotations(t)).NotTo(HaveKey(settings.ApprovedAnnotation))
	code, text := acted(t, "oncall", "stepgate-act", dashboard.Action{Verb: dashboard.Pause}, forged)
	g.Expect(code).To(Equal(200), text)
	g.Expect(annotations(t)).To(HaveKeyWithValue(settings.PausedByAnnotation, HavePrefix("argocd:oncall at ")))

	// A browser has its proxy leave the name out: then nobody acts.
	code, text = acted(t, "oncall", "stepgate-act", dashboard.Action{Verb: dashboard.Resume},
		map[string]string{"Connection": extension.UserHeader})
	g.Expect(code).To(Equal(403), text)
	g.Expect(text).To(ContainSubstring("no name of yours comes from Argo CD"))
	g.Expect(annotations(t)).To(HaveKey(settings.PauseAnnotation))
}

// TestWhoMayNotAct: Argo CD or the reporter refuses, and nothing is written.
func TestWhoMayNotAct(t *testing.T) {
	pause := dashboard.Action{Verb: dashboard.Pause}
	for title, tc := range map[string]struct {
		account, extension string
		headers            map[string]string
		code               int
		text               string
	}{
		"who may look":                          {account: "viewer", extension: "stepgate-act", code: 401, text: "Unauthorized extension request"},
		"who may look, by the other extension":  {account: "viewer", extension: "stepgate", code: 403, text: "the header Stepgate-Token is wrong"},
		"by the other one, with the act secret": {account: "viewer", extension: "stepgate", headers: map[string]string{extension.TokenHeader: actSecret}, code: 403, text: "the header Stepgate-Token is wrong"},
		"nobody":                                {extension: "stepgate-act", code: 400, text: "Auth cookie not found"},
		"about an Application of another":       {account: "oncall", extension: "stepgate-act", headers: of("secret", "secret"), code: 401, text: "Unauthorized extension request"},
		"what a form of another site posts":     {account: "oncall", extension: "stepgate-act", headers: map[string]string{"Content-Type": "text/plain"}, code: 415, text: "an action is JSON"},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			code, text := acted(t, tc.account, tc.extension, pause, tc.headers)
			g.Expect(code).To(Equal(tc.code), text)
			g.Expect(text).To(ContainSubstring(tc.text))
			g.Expect(annotations(t)).NotTo(HaveKey(settings.PauseAnnotation))
		})
	}
	t.Run("past Argo CD, without the secret", func(t *testing.T) {
		g := NewWithT(t)
		for secret, want := range map[string]string{"": "is wrong", "guessed": "is wrong", secret: "is wrong"} {
			code, text := send(t, "", http.MethodPost, "http://"+direct+"/api/v1/actions", map[string]string{
				extension.ApplicationHeader: "argocd:" + prod, extension.ProjectHeader: "default",
				extension.UserHeader: "releaser", extension.TokenHeader: secret, "Content-Type": "application/json",
			}, `{"verb":"pause","namespace":"argocd","name":"guestbook"}`)
			g.Expect(code).To(Equal(403), text)
			g.Expect(text).To(ContainSubstring(want))
		}
		g.Expect(annotations(t)).NotTo(HaveKey(settings.PauseAnnotation))
	})
}

// TestAnotherAccountNamesAUser of Argo CD, who may approve: it is recorded, and judged, as itself.
func TestAnotherAccountNamesAUser(t *testing.T) {
	g := NewWithT(t)
	annotated(t, map[string]any{settings.ApproveAnnotation: "3"})
	as := client.FieldOwner("argocd:releaser")
	approve := annotationsOf(map[string]any{settings.ApprovedAnnotation: "3@" + guestbook.NewCommit})
	err := shared.Admin.Patch(t.Context(), guestbook.Set(cluster.ArgoNamespace), approve, as)
	g.Expect(err).To(MatchError(And(ContainSubstring("may not approve step 3"), Not(ContainSubstring("argocd:releaser")))))
	pause := annotationsOf(map[string]any{settings.PauseAnnotation: "all"})
	g.Expect(shared.Admin.Patch(t.Context(), guestbook.Set(cluster.ArgoNamespace), pause, as)).To(Succeed())
	g.Expect(annotations(t)[settings.PausedByAnnotation]).NotTo(ContainSubstring("argocd:"))

	// The reporter itself writes for nobody but a user of Argo CD, and nothing else.
	reporter := asReporter(t)
	g.Expect(reporter.Patch(t.Context(), guestbook.Set(cluster.ArgoNamespace), approve)).
		To(MatchError(ContainSubstring("names no user of Argo CD")))
	g.Expect(reporter.Patch(t.Context(), guestbook.Set(cluster.ArgoNamespace),
		annotationsOf(map[string]any{settings.ApproveAnnotation: nil}), as)).
		To(MatchError(ContainSubstring("stepgate's reporter may only write those that pause and approve")))
	g.Expect(reporter.Patch(t.Context(), guestbook.Set(cluster.ArgoNamespace), approve, as)).To(Succeed())
}

func asReporter(t *testing.T) client.Client {
	t.Helper()
	g := NewWithT(t)
	kubeconfig, err := shared.Kubeconfig(t.Context(), "stepgate", "stepgate-reporter", "")
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	reporter, err := client.New(config, client.Options{Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper()})
	g.Expect(err).NotTo(HaveOccurred())
	return reporter
}

// TestArgoCDTellsWhoMayAct: the page asks it what to offer.
func TestArgoCDTellsWhoMayAct(t *testing.T) {
	for account, want := range map[string]string{"oncall": "yes", "releaser": "yes", "viewer": "no"} {
		code, text := do(t, account, server.URL+"/api/v1/account/can-i/extensions/invoke/stepgate-act", nil)
		NewWithT(t).Expect(code).To(Equal(200), text)
		NewWithT(t).Expect(text).To(MatchJSON(`{"value":"` + want + `"}`))
	}
}

// TestActingInABrowser pauses in the page, after it has shown what that would do.
func TestActingInABrowser(t *testing.T) {
	v := &view{Browser: browser.Start(t), WithT: *NewWithT(t)}
	annotated(t, map[string]any{settings.ApproveAnnotation: "3"})
	v.Open(browser.Tab{URL: host(t, "18", "releaser") + "/?view=tab&theme=light", Width: 1280, Height: 512})
	v.Click("button:text-is('Pause…')")
	v.Fill("[role=dialog] input", "INC-2")
	v.Click("[role=dialog] button:text-is('Continue')")
	v.Sees("[role=dialog] >> text=This was a server dry run")
	v.inOrder()
	v.Expect(annotations(t)).NotTo(HaveKey(settings.PauseAnnotation))
	v.Click("[role=dialog] button:text-is('Pause')")
	v.Sees("[role=dialog] >> text=Paused by argocd:releaser")
	v.Expect(annotations(t)).To(HaveKeyWithValue(settings.PauseAnnotation, "all: INC-2"))
}
