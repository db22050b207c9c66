// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	jsonpatchv2 "gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/settings"
)

// mutated is the answer of a Mutator to an attempt, and the Application after it.
func mutated(
	t *testing.T, config settings.Config, c *scenario.Cluster, a *scenario.Attempt,
) (*trial, webhook.AdmissionResponse, *argo.Application) {
	t.Helper()
	trial := newTrial(config, c)
	resp, app := mutatedBy(t, trial, c, a)
	return trial, resp, app
}

func mutatedBy(
	t *testing.T, trial *trial, c *scenario.Cluster, a *scenario.Attempt,
) (webhook.AdmissionResponse, *argo.Application) {
	t.Helper()
	g := NewWithT(t)
	resp := trial.mutator(c).Handle(t.Context(),
		webhook.AdmissionRequest{AdmissionRequest: a.Request()})
	g.Expect(resp.Allowed).To(BeTrue(), "it admits everything")
	if a.After == nil {
		return resp, nil
	}
	app := &argo.Application{}
	g.Expect(json.Unmarshal(scenario.Patched(scenario.Raw(a.After), resp.Patches), app)).To(Succeed())
	return resp, app
}

// unstamped are the patches without that of the stamp.
func unstamped(patches []jsonpatchv2.Operation) []jsonpatchv2.Operation {
	return slices.DeleteFunc(slices.Clone(patches), func(p jsonpatchv2.Operation) bool {
		return strings.HasPrefix(p.Path, "/operation/info")
	})
}

// TestMutator wants of each write whether it is pinned, held or left as it is.
func TestMutator(t *testing.T) {
	const open = "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"
	notDone := func(c *scenario.Cluster) { c.Apps[0].Status.Health.Status = "Degraded" }
	synced := func(c *scenario.Cluster) {
		c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
			{Application: "prod", Step: "3", Status: "Progressing"},
		}
		c.Apps[2].Status.OperationState = &argo.OperationState{
			Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: metav1.NewTime(scenario.Noon),
		}
	}
	deployed := func(c *scenario.Cluster) {
		c.Apps[2].Status.History = argo.RevisionHistories{{Revision: scenario.Commit("b"), Source: *c.Apps[2].Spec.Source}}
	}
	spec := func(a *scenario.Attempt) { a.After.Spec.Source.Path = "elsewhere" }
	person := func(a *scenario.Attempt) {
		a.User, a.After.Operation.InitiatedBy.Automated = "kubernetes-admin", false
	}
	refresh := func(a *scenario.Attempt) {
		a.After.Annotations = map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeHard)}
	}
	for name, tc := range map[string]struct {
		config  func(*settings.Config)
		cluster func(*scenario.Cluster)
		write   func(*scenario.Attempt)
		want    string // "pinned", "held", "stamped" alone, or ""
	}{
		"the ApplicationSet controller": {want: "pinned"},
		"argocd-server": {write: func(a *scenario.Attempt) {
			a.User, a.After.Operation.InitiatedBy.Automated = scenario.ArgoCDServer, false
		}, want: "pinned"},
		"kubectl":               {write: func(a *scenario.Attempt) { a.User = "kubernetes-admin" }, want: "pinned"},
		"it names its revision": {write: func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = scenario.Commit("b") }, want: "pinned"},
		"it names revision and source": {write: func(a *scenario.Attempt) {
			a.After.Operation.Sync.Revision, a.After.Operation.Sync.Source = scenario.Commit("b"), a.After.Spec.Source
		}, want: "stamped"},
		"it names the deployed revision": {cluster: deployed, write: func(a *scenario.Attempt) {
			a.User, a.After.Operation.InitiatedBy.Automated, a.After.Operation.Sync.Revision = scenario.ArgoCDServer, false,
				scenario.Commit("b")
		}, want: "pinned"},
		"it names a branch": {write: func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = "main" }, want: "held"},
		"a dry run":         {write: func(a *scenario.Attempt) { a.After.Operation.Sync.DryRun = true }, want: "stamped"},
		"no operation":      {write: func(a *scenario.Attempt) { a.After.Operation = nil }},
		"a deletion":        {write: func(a *scenario.Attempt) { a.After = nil }},
		"the first step":    {cluster: func(c *scenario.Cluster) { c.Apps[2].Labels["step"] = "1" }, want: "stamped"},
		"the first step of what comes after others": {cluster: func(c *scenario.Cluster) {
			c.Apps[2].Labels["step"], c.Sets[0].Annotations = "1", map[string]string{settings.AfterAnnotation: "infra"}
		}, write: person, want: "pinned"},
		"the first step, where the Application itself comes after others": {cluster: func(c *scenario.Cluster) {
			c.Apps[2].Labels["step"], c.Apps[2].Annotations = "1", map[string]string{settings.AfterAnnotation: "infra"}
		}, write: func(a *scenario.Attempt) {
			person(a)
			a.After.Annotations = map[string]string{settings.AfterAnnotation: "infra"}
		}, want: "pinned"},
		"no step":                    {cluster: func(c *scenario.Cluster) { c.Apps[2].Labels["step"] = "9" }, want: "stamped"},
		"audit mode":                 {config: func(c *settings.Config) { c.Mode = settings.Audit }},
		"audit mode by annotation":   {cluster: func(c *scenario.Cluster) { c.Sets[0].Annotations = map[string]string{settings.ModeAnnotation: "audit"} }},
		"switched off by annotation": {cluster: func(c *scenario.Cluster) { c.Sets[0].Annotations = map[string]string{settings.ModeAnnotation: "off"} }},
		"a bypass": {cluster: func(c *scenario.Cluster) {
			c.Sets[0].Annotations = map[string]string{
				settings.BypassAnnotation: scenario.Noon.Add(time.Hour).Format(time.RFC3339) + " INC-1",
			}
		}, want: "stamped"},
		"the ApplicationSet is not known":   {cluster: func(c *scenario.Cluster) { c.Sets = nil }},
		"the ApplicationSet is another one": {cluster: func(c *scenario.Cluster) { c.Sets[0].UID = "other" }},
		"two owners, of which one is not known": {
			write: func(a *scenario.Attempt) {
				a.After.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("other")}
			}, want: "pinned",
		},
		"two owners": {
			cluster: func(c *scenario.Cluster) { c.Sets = append(c.Sets, scenario.RollingSync("other", "1", "2", "3")) },
			write: func(a *scenario.Attempt) {
				a.After.OwnerReferences = []metav1.OwnerReference{scenario.OwnedBy("other")}
			},
		},
		"adopted from an ApplicationSet of the same name that is gone": {write: func(a *scenario.Attempt) {
			a.Before = a.Before.DeepCopy()
			a.Before.OwnerReferences[0].UID = "gone"
		}, want: "pinned"},
		"spec and operation in one patch": {write: spec, want: "held"},
		"spec and operation, of another namespace": {write: func(a *scenario.Attempt) {
			spec(a)
			a.User = "system:serviceaccount:gitops:openshift-gitops-applicationset-controller"
		}, want: "held"},
		"spec and operation, by a person":         {write: func(a *scenario.Attempt) { spec(a); person(a) }, want: "held"},
		"a new sync policy and an operation":      {cluster: notDone, write: func(a *scenario.Attempt) { a.After.Spec.SyncPolicy = &argo.SyncPolicy{}; person(a) }, want: "held"},
		"a refresh and an operation, by a person": {cluster: notDone, write: func(a *scenario.Attempt) { refresh(a); person(a) }, want: "held"},
		"a refresh and an operation, in its turn": {write: func(a *scenario.Attempt) { refresh(a); person(a) }, want: "pinned"},
		"an agent reports one that runs elsewhere": {cluster: notDone, write: func(a *scenario.Attempt) {
			a.After.Status.OperationState = &argo.OperationState{Phase: "Running", Operation: *a.After.Operation}
			person(a)
		}, want: "held"},
		"argocd-server clears the last result": {cluster: func(c *scenario.Cluster) {
			notDone(c)
			c.Apps[2].Status.OperationState = &argo.OperationState{Phase: "Failed"}
		}, write: func(a *scenario.Attempt) { a.After.Status.OperationState = nil; person(a) }, want: "pinned"},
		"an agent reports of the Application": {cluster: func(c *scenario.Cluster) {
			c.Apps[2].Annotations = map[string]string{common.AnnotationKeyAppSkipReconcile: "true"}
		}, want: "stamped"},
		"it says in the same write that an agent reports the Application": {write: func(a *scenario.Attempt) {
			a.After.Annotations = map[string]string{common.AnnotationKeyAppSkipReconcile: "true"}
		}, want: "pinned"},
		"a refresh that is under way": {cluster: func(c *scenario.Cluster) {
			notDone(c)
			c.Apps[2].Annotations = map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeHard)}
		}, write: person, want: "pinned"},
		"created with an operation":               {write: func(a *scenario.Attempt) { a.Before = nil }, want: "held"},
		"created with an operation, by a person":  {write: func(a *scenario.Attempt) { a.Before = nil; person(a) }, want: "held"},
		"the operation alone, not compared":       {cluster: func(c *scenario.Cluster) { c.Apps[2].Status.Sync = argo.SyncStatus{} }, want: "held"},
		"the operation and a label, not compared": {cluster: func(c *scenario.Cluster) { c.Apps[2].Status.Sync = argo.SyncStatus{} }, write: func(a *scenario.Attempt) { a.After.Labels["new"] = "x" }, want: "held"},
		"the comparison failed":                   {cluster: func(c *scenario.Cluster) { c.Apps[2].Status.Sync.Status = "Unknown" }, want: "held"},
		"a sibling is not done":                   {cluster: notDone, want: "held"},
		"spec and operation, holding is off":      {config: func(c *settings.Config) { c.Hold = false }, write: spec, want: "held"},
		"a sibling is not done, holding is off":   {cluster: notDone, config: func(c *settings.Config) { c.Hold = false }, want: "pinned"},
		"a sibling is not done, audit mode":       {cluster: notDone, config: func(c *settings.Config) { c.Mode = settings.Audit }},
		"a sibling is not done, argocd-server": {cluster: notDone, write: func(a *scenario.Attempt) {
			a.User, a.After.Operation.InitiatedBy.Automated = scenario.ArgoCDServer, false
		}, want: "pinned"},
		"a sibling is not done, auto-sync":                 {cluster: notDone, write: func(a *scenario.Attempt) { a.User = scenario.ApplicationController }, want: "held"},
		"a sibling is not done, a program that asks again": {cluster: notDone, write: func(a *scenario.Attempt) { a.User = "kargo" }, want: "held"},
		"a sibling is not done, a person":                  {cluster: notDone, write: person, want: "pinned"},
		"a sibling is not done, stepgate itself": {
			config: func(c *settings.Config) { c.Account = "stepgate" }, cluster: notDone,
			write: func(a *scenario.Attempt) { a.User = "stepgate" }, want: "pinned",
		},
		"not compared, a person":         {cluster: func(c *scenario.Cluster) { c.Apps[2].Status.Sync = argo.SyncStatus{} }, write: person, want: "stamped"},
		"a repetition":                   {cluster: synced, want: "held"},
		"a repetition in the first step": {cluster: func(c *scenario.Cluster) { synced(c); c.Apps[2].Labels["step"] = "1" }, want: "held"},
		"a repetition by auto-sync":      {cluster: synced, write: func(a *scenario.Attempt) { a.User = scenario.ApplicationController }, want: "pinned"},
		"what is left of a sync that is gone": {write: func(a *scenario.Attempt) {
			a.After.Operation = &argo.Operation{Info: a.After.Operation.Info}
		}, want: "held"},
		"no live read": {cluster: func(c *scenario.Cluster) { notDone(c); c.FailAt = 1 }, want: "pinned"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config, c := scenario.Pinning(), scenario.Of(open)
			if tc.config != nil {
				tc.config(&config)
			}
			if tc.cluster != nil {
				tc.cluster(c)
			}
			write := scenario.SyncOf(c, "prod")
			if tc.write != nil {
				tc.write(write)
			}
			trial, resp, app := mutated(t, config, c, write)
			changed := tc.want == "pinned" || tc.want == "held"
			g.Expect(len(resp.Patches) > 0).To(Equal(tc.want != ""))
			g.Expect(len(unstamped(resp.Patches)) > 0).To(Equal(changed))
			g.Expect(len(trial.samples("stepgate_operations_changed_total")) > 0).To(Equal(changed), "counted")
			if after, before := decoded(g, app), decoded(g, write.Before); tc.want == "stamped" || tc.want == "pinned" {
				_, patches := argocd.Stamped(after, before)
				g.Expect(patches).To(BeEmpty(), "it has its stamp")
			}
			switch tc.want {
			case "pinned":
				g.Expect(app.Operation.Sync.Revision).To(Equal(scenario.Commit("b")))
				g.Expect(app.Operation.Sync.Source).To(Equal(app.Spec.Source))
				g.Expect(resp.AuditAnnotations).To(Equal(map[string]string{"pinned": scenario.Commit("b")}))
			case "held":
				g.Expect(app.Operation).To(BeNil())
				g.Expect(app.Spec).To(Equal(write.After.Spec), "the rest goes in")
				g.Expect(resp.AuditAnnotations).To(HaveKeyWithValue("decision", "hold"))
			default:
				g.Expect(resp.AuditAnnotations).To(BeEmpty())
			}
		})
	}
}

// decoded is an Application as a webhook decodes it; nil if there is none.
func decoded(g *WithT, app *argo.Application) *argocd.Application {
	if app == nil {
		return nil
	}
	a, err := argocd.Decode(scenario.Raw(app))
	g.Expect(err).NotTo(HaveOccurred())
	return a
}

// TestAHeldOperationLeavesTheOldOne has an operation that waits already.
func TestAHeldOperationLeavesTheOldOne(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy 3:prod=Healthy")
	write := scenario.SyncOf(c, "prod")
	write.Before = write.Before.DeepCopy()
	write.Before.Operation = &argo.Operation{Sync: &argo.SyncOperation{Revision: scenario.Commit("a")}}
	write.After.Spec.Source.Path = "elsewhere"
	_, _, app := mutated(t, scenario.Pinning(), c, write)
	g.Expect(app.Operation).To(Equal(write.Before.Operation))
}

// TestTheTrainPinsWhatQualifies has earlier steps on their way to e, while prod was compared with e, too.
func TestTheTrainPinsWhatQualifies(t *testing.T) {
	for name, tc := range map[string]struct {
		// histories; a capital is a revision that a user has tried: no comparison finds it. After d, nobody was seen to be
		// Healthy
		dev, qa, prod string
		want          string // empty if it is held
	}{
		"the newest that both have run":                        {"abcd", "abc", "a", "c"},
		"all have run the compared one, and are not Healthy":   {"abcde", "abcde", "a", "c"},
		"nothing is completed: held":                           {"ab", "a", "a", ""},
		"never older than what it runs":                        {"abc", "abc", "abcd", ""},
		"it has run nothing yet":                               {"abc", "ab", "", "b"},
		"one has run what it runs, and knows the order":        {"bc", "abc", "a", "c"},
		"none has run what it runs":                            {"bc", "bc", "a", ""},
		"all have run d, and were not seen to be done with it": {"abcd", "abcd", "a", "c"},
		"a user has tried the newest":                          {"abC", "abc", "a", "b"},
		"completed, out of order in one of them":               {"acb", "abc", "a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Of("1:dev=Progressing@e 2:qa=Progressing@e 3:prod=Healthy@e")
			completed := map[string][]policy.Source{}
			for i, history := range []string{tc.dev, tc.qa, tc.prod} {
				app := c.Apps[i]
				source := *c.Apps[2].Spec.Source // one repository and branch
				source.Path = app.Name
				for _, r := range history {
					app.Status.History = append(app.Status.History, argo.RevisionHistory{
						Revision: scenario.Commit(strings.ToLower(string(r))), Source: source, InitiatedBy: argo.OperationInitiator{Automated: unicode.IsLower(r)},
					})
				}
				completed[app.Name] = slices.DeleteFunc(argocd.Sibling(app).Ran, func(s policy.Source) bool {
					return s.Revision == scenario.Commit("d") || strings.Contains(history, strings.ToUpper(s.Revision[:1]))
				})
			}
			config := scenario.Pinning()
			config.Pin, config.Start = settings.PinCandidate, true
			trial := newTrial(config, c)
			trial.judge.Histories = &scenario.Watch{Completed: completed}
			resp, app := mutatedBy(t, trial, c, scenario.SyncOf(c, "prod"))
			g := NewWithT(t)
			g.Expect(resp.Patches).NotTo(BeEmpty())
			if tc.want == "" {
				g.Expect(app.Operation).To(BeNil())
				return
			}
			g.Expect(app.Operation.Sync.Revision).To(Equal(scenario.Commit(tc.want)))
		})
	}
}

// TestADryRunIsToldTheCandidates newest first, if it asks for them, and nobody else is.
func TestADryRunIsToldTheCandidates(t *testing.T) {
	c := scenario.Of("1:dev=Progressing@e 3:prod=Healthy@e")
	source := *c.Apps[1].Spec.Source
	for i, history := range []string{"abc", "a"} {
		for _, r := range history {
			own := source
			own.Path = c.Apps[i].Name
			c.Apps[i].Status.History = append(c.Apps[i].Status.History, argo.RevisionHistory{
				Revision: scenario.Commit(string(r)), Source: own,
			})
		}
	}
	config := scenario.Pinning()
	config.Pin, config.Start = settings.PinCandidate, true
	ask := func(t *testing.T, dryRun bool, info string) []course.Candidate {
		t.Helper()
		g, trial, write := NewWithT(t), newTrial(config, c), scenario.SyncOf(c, "prod")
		trial.judge.Histories = &scenario.Watch{Completed: map[string][]policy.Source{"dev": argocd.Sibling(c.Apps[0]).Ran}}
		write.DryRun = dryRun
		write.After.Operation.Info = []*argo.Info{{Name: info, Value: "list"}}
		resp, _ := mutatedBy(t, trial, c, write)
		var all []course.Candidate
		for _, warning := range resp.Warnings {
			text, is := strings.CutPrefix(warning, course.CandidateWarning)
			g.Expect(is).To(BeTrue(), warning)
			all = append(all, course.Candidate{})
			g.Expect(json.Unmarshal([]byte(text), &all[len(all)-1])).To(Succeed())
		}
		return all
	}
	g := NewWithT(t)
	g.Expect(ask(t, true, course.CandidatesInfo)).To(Equal([]course.Candidate{
		{Revisions: []string{scenario.Commit("e")}, Compared: true, Reason: policy.NotHealthy, Detail: "Progressing", Blocker: "dev"},
		{Revisions: []string{scenario.Commit("c")}, Next: true},
	}))
	g.Expect(ask(t, false, course.CandidatesInfo)).To(BeEmpty(), "a sync")
	g.Expect(ask(t, true, "other")).To(BeEmpty(), "somebody who does not ask")
}

// TestADryRunIsPinnedWithoutATrace gets the same answer, and is not counted.
func TestADryRunIsPinnedWithoutATrace(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy 3:prod=Healthy")
	write := scenario.SyncOf(c, "prod")
	write.DryRun = true
	trial, resp, _ := mutated(t, scenario.Pinning(), c, write)
	g.Expect(resp.Patches).NotTo(BeEmpty())
	g.Expect(len(trial.samples("stepgate_operations_changed_total"))).To(BeZero())
}

// TestTheSelfTestIsAnswered shows stepgate selftest that the API server calls the mutating webhook.
func TestTheSelfTestIsAnswered(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy 3:prod=Healthy")
	write := scenario.SyncOf(c, "prod")
	write.After.Operation.Info = []*argo.Info{{Name: SelfTestInfo, Value: "mutate"}}
	_, resp, _ := mutated(t, scenario.Pinning(), c, write)
	g.Expect(resp.Warnings).To(Equal([]string{SelfTestWarning}))
}

// TestAnUnreadableWriteIsLeftToTheGate: the mutating webhook has no say in it.
func TestAnUnreadableWriteIsLeftToTheGate(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy 3:prod=Healthy")
	req := scenario.SyncOf(c, "prod").Request()
	req.Object.Raw = []byte("[]")
	trial := newTrial(scenario.Pinning(), scenario.Untouchable{T: t})
	resp := trial.mutator(c).Handle(t.Context(),
		webhook.AdmissionRequest{AdmissionRequest: req})
	g.Expect(resp.Allowed).To(BeTrue())
	g.Expect(resp.Patches).To(BeEmpty())
}

// TestAPinnedOperationIsAllowed plays both webhooks one after the other.
func TestAPinnedOperationIsAllowed(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy 3:prod=Healthy")
	write := scenario.SyncOf(c, "prod")
	trial := newTrial(scenario.Pinning(), c)
	g.Expect(trial.asWritten(write.Request()).AuditAnnotations).To(HaveKeyWithValue("reason", "NotPinned"))
	_, _, write.After = mutated(t, scenario.Pinning(), c, write)
	g.Expect(trial.asWritten(write.Request()).AuditAnnotations).To(HaveKeyWithValue("reason", "EarlierStepsDone"))
}
