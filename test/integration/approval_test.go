// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// approvals is a rollout of which several people may write the ApplicationSet.
type approvals struct{ *rollout }

// writers is the group of those who may write ApplicationSets.
const writers = "writers"

// newApprovals returns when the API server calls both webhooks for ApplicationSets.
func newApprovals(t *testing.T, args ...string) *approvals {
	t.Helper()
	a := &approvals{newRollout(t, args...)}
	a.Expect(shared.Admin.Create(a.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: writers},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "application-writers"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: writers}},
	})).To(Succeed())
	a.Eventually(func() error {
		return a.annotateAs("probe", map[string]any{"probe": "x"}, client.DryRunAll)
	}).Should(Succeed())
	for _, path := range []string{webhook.MutateApplicationSetPath, webhook.ValidateApplicationSetPath} {
		a.Eventually(func() float64 {
			_ = a.annotateAs("probe", map[string]any{settings.ApprovedAnnotation: "1@1.0"}, client.DryRunAll)
			return a.called(path)
		}).Should(BeNumerically(">", 0))
	}
	return a
}

// called is how often the API server has called a path.
func (a *approvals) called(path string) float64 {
	a.t.Helper()
	n, err := a.replica.Metric(a.ctx, "stepgate_requests_total", "path", path)
	a.Expect(err).NotTo(HaveOccurred())
	return n
}

// warned collects the warnings of an API server.
type warned struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader takes one warning.
func (w *warned) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// asMember returns a client of a user who is a writer, and a member of other groups.
func (a *approvals) asMember(user string, warnings rest.WarningHandler, groups ...string) client.Client {
	config := rest.CopyConfig(shared.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: user, Groups: append([]string{writers, "system:authenticated"}, groups...),
	}
	config.WarningHandler = warnings
	c, err := client.New(config, client.Options{Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper()})
	a.Expect(err).NotTo(HaveOccurred())
	return c
}

func annotations(values map[string]any) client.Patch {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": values}})
	if err != nil {
		panic(err)
	}
	return client.RawPatch(types.MergePatchType, text)
}

// annotateAs merge-patches annotations as a user; a nil one is removed.
func (a *approvals) annotateAs(user string, values map[string]any, opts ...client.PatchOption) error {
	a.caughtUp(a.Set.DeepCopy())
	return a.asMember(user, nil).Patch(a.ctx, a.Set.DeepCopy(), annotations(values), opts...)
}

// annotated are the annotations that are stored.
func (a *approvals) annotated() map[string]string {
	set := a.Set.DeepCopy()
	a.Expect(shared.Admin.Get(a.ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
	return set.Annotations
}

// stamp is an element of stepgate.io/approved-by.
type stamp struct {
	Step int
	Of   string
	By   string
	At   time.Time
}

// stamps are those that are stored, without their times, which are those of a moment ago.
func (a *approvals) stamps() (all []stamp) {
	a.t.Helper()
	if text, ok := a.annotated()[settings.ApprovedByAnnotation]; ok {
		a.Expect(json.Unmarshal([]byte(text), &all)).To(Succeed())
	}
	for i := range all {
		a.Expect(all[i].At).To(BeTemporally("~", time.Now(), time.Minute))
		all[i].At = time.Time{}
	}
	return all
}

// refused asserts a 403 with this sentence.
func (a *approvals) refused(err error, sentence string) {
	a.t.Helper()
	a.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "not a 403: %v", err)
	a.Expect(err).To(MatchError(`admission webhook "approval.stepgate.io" denied the request: ` + sentence))
}

const (
	// refreshAnnotation is the one that the ApplicationSet controller removes (argo-cd v3.5.7, common/common.go).
	refreshAnnotation = "argocd.argoproj.io/application-set-refresh"
	approvedProd      = "3@" + guestbook.NewCommit
	leaveOut          = "annotation stepgate.io/approved-by is written by stepgate: leave it out"
)

func TestApprovalsAreThoseOfTheAPIServersUsers(t *testing.T) {
	for name, args := range map[string][]string{"enforce": nil, "audit": {"--mode=audit"}} {
		t.Run(name, func(t *testing.T) {
			a := newApprovals(t, args...)
			alices, bobs := stamp{
				Step: 3, Of: guestbook.NewCommit, By: "alice",
			}, stamp{Step: 3, Of: guestbook.NewCommit, By: "bob"}

			a.Expect(a.annotateAs("alice", map[string]any{
				settings.ApprovedAnnotation: approvedProd,
			}, client.DryRunAll)).To(Succeed())
			a.Expect(a.stamps()).To(BeEmpty(), "a server dry-run")
			a.Expect(a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: approvedProd})).To(Succeed())
			a.Expect(a.stamps()).To(Equal([]stamp{alices}))
			a.Expect(a.annotateAs("bob", map[string]any{"note": "x", settings.ApprovedByAnnotation: nil})).To(Succeed())
			a.Expect(a.stamps()).To(Equal([]stamp{alices}), "a stamp that somebody removes comes back")
			a.Expect(a.annotateAs("bob", map[string]any{
				settings.ApprovedAnnotation: approvedProd + ",2@" + guestbook.NewCommit,
			})).To(Succeed())
			a.Expect(a.stamps()).To(Equal([]stamp{alices, {Step: 2, Of: guestbook.NewCommit, By: "bob"}}))

			stored := a.annotated()[settings.ApprovedByAnnotation]
			forged := `[{"step":3,"of":"` + guestbook.NewCommit + `","by":"carol","at":"` +
				time.Now().UTC().Format(time.RFC3339) + `"}]`
			a.refused(a.annotateAs("bob", map[string]any{settings.ApprovedByAnnotation: forged}), leaveOut)
			a.refused(a.annotateAs("bob", map[string]any{
				settings.ApprovedAnnotation: approvedProd, settings.ApprovedByAnnotation: forged,
			}), leaveOut)
			a.Expect(a.annotated()).To(HaveKeyWithValue(settings.ApprovedByAnnotation, stored))

			// An approval that is taken back, and made again by somebody else.
			a.Expect(a.annotateAs("carol", map[string]any{settings.ApprovedAnnotation: nil})).To(Succeed())
			a.Expect(a.annotated()).NotTo(HaveKey(settings.ApprovedByAnnotation))
			a.Expect(a.annotateAs("bob", map[string]any{settings.ApprovedAnnotation: approvedProd})).To(Succeed())
			a.Expect(a.stamps()).To(Equal([]stamp{bobs}))
			a.Expect(a.replica.Metric(a.ctx, "stepgate_approvals_total", "result", "approved")).To(BeNumerically("==", 3))
			a.Expect(a.replica.Metric(a.ctx, "stepgate_approvals_total", "result", "refused")).To(BeNumerically("==", 2))
		})
	}
}

func TestAnApprovalInANewApplicationSet(t *testing.T) {
	a := newApprovals(t)
	a.Set = guestbook.Set(a.namespace)
	a.Set.Name, a.Set.Annotations = "second", map[string]string{settings.ApprovedAnnotation: approvedProd}
	a.Expect(a.asMember("alice", nil).Create(a.ctx, a.Set)).To(Succeed())
	a.Expect(a.stamps()).To(Equal([]stamp{{Step: 3, Of: guestbook.NewCommit, By: "alice"}}))
}

func TestOnlyApproversApprove(t *testing.T) {
	a := newApprovals(t, "--approver=alice", "--approver=probe", "--approver-group=sre")
	approve := map[string]any{settings.ApprovedAnnotation: approvedProd}

	a.refused(a.annotateAs("bob", approve),
		"bob may not approve step 3 of ApplicationSet "+a.namespace+"/guestbook: stepgate's --approver and --approver-group "+
			"do not name this user or a group of this user. Next: ask somebody whom they name")
	a.Expect(a.annotated()).NotTo(HaveKey(settings.ApprovedAnnotation))
	a.Expect(a.annotateAs("alice", approve)).To(Succeed())
	a.Expect(a.annotateAs("bob", map[string]any{
		"note": "x", settings.PauseAnnotation: "all",
	})).To(Succeed(), "what alice has approved stays")
	a.Expect(a.annotateAs("bob", map[string]any{settings.ApprovedAnnotation: nil})).To(Succeed(),
		"everybody may take an approval back")
	a.Expect(a.annotateAs("bob", approve)).NotTo(Succeed())
	a.Expect(a.asMember("bob", nil, "sre").Patch(a.ctx, a.Set.DeepCopy(), annotations(approve))).To(Succeed(),
		"a member of the group")
	a.Expect(a.stamps()).To(Equal([]stamp{{Step: 3, Of: guestbook.NewCommit, By: "bob"}}))
}

func TestAPauseSaysWhoHasSetIt(t *testing.T) {
	a := newApprovals(t)
	a.Expect(a.annotateAs("alice", map[string]any{
		settings.PauseAnnotation: "3: freeze",
	})).To(Succeed())
	by := a.annotated()[settings.PausedByAnnotation]
	a.Expect(by).To(MatchRegexp(`^alice at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$`))
	a.Expect(a.annotateAs("bob", map[string]any{"stepgate.io/require": "health"})).To(Succeed())
	a.Expect(a.annotated()).To(HaveKeyWithValue(settings.PausedByAnnotation, by))
	err := a.annotateAs("bob", map[string]any{settings.PausedByAnnotation: "carol at 2026-11-22T10:00:00Z"})
	a.refused(err, "annotation stepgate.io/paused-by is written by stepgate: leave it out")
	a.Expect(a.annotateAs("bob", map[string]any{settings.PauseAnnotation: "all"})).To(Succeed())
	a.Expect(a.annotated()[settings.PausedByAnnotation]).To(HavePrefix("bob at "))
	a.Expect(a.annotateAs("bob", map[string]any{settings.PauseAnnotation: nil})).To(Succeed())
	a.Expect(a.annotated()).NotTo(HaveKey(settings.PausedByAnnotation))
}

func TestAnAnnotationThatCannotBeReadIsStoredWithAWarning(t *testing.T) {
	a := newApprovals(t)
	warnings := &warned{}
	a.Expect(a.asMember("alice", warnings).Patch(a.ctx, a.Set.DeepCopy(),
		annotations(map[string]any{settings.ModeAnnotation: "Audit"}))).To(Succeed())
	a.Expect(a.annotated()).To(HaveKeyWithValue(settings.ModeAnnotation, "Audit"))
	a.Expect(warnings.texts).To(Equal([]string{
		`stepgate: annotation stepgate.io/mode is not valid, the stricter reading is used: "Audit" is not one of enforce, audit, off`,
	}))
}

// TestOrdinaryWritesOfApplicationSetsAreNotSent counts the calls for the writes of Argo CD and of people.
func TestOrdinaryWritesOfApplicationSetsAreNotSent(t *testing.T) {
	a := newApprovals(t)
	a.Expect(a.annotateAs("alice", map[string]any{
		settings.ApprovedAnnotation: approvedProd, settings.PauseAnnotation: "2",
	})).To(Succeed())
	before := a.requests()
	set := func() *argo.ApplicationSet {
		set := a.Set.DeepCopy()
		a.Expect(shared.Admin.Get(a.ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
		return set
	}
	for name, write := range map[string]func() error{
		"the status": func() error {
			s := set()
			s.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "engineering-dev-guestbook", Status: "Healthy", Step: "1", Message: "x", TargetRevisions: []string{}},
			}
			return shared.Admin.Status().Update(a.ctx, s)
		},
		"the refresh annotation of the controller": func() error {
			s := set()
			s.Annotations[refreshAnnotation] = "true"
			return a.as(cluster.ApplicationSetAccount).Update(a.ctx, s)
		},
		"its removal": func() error {
			s := set()
			delete(s.Annotations, refreshAnnotation)
			return a.as(cluster.ApplicationSetAccount).Update(a.ctx, s)
		},
		"a spec": func() error {
			s := set()
			s.Spec.GoTemplate = !s.Spec.GoTemplate
			return a.as(cluster.Human).Update(a.ctx, s)
		},
		"a label": func() error {
			return a.as(cluster.Human).Patch(a.ctx, set(),
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))
		},
		"another annotation": func() error { return a.annotateAs("alice", map[string]any{"example.com/stepgate.io": "x"}) },
		"an empty set of them": func() error {
			s := guestbook.Set(a.namespace)
			s.Name = "bare"
			return a.as(cluster.Human).Create(a.ctx, s)
		},
		"the same values again": func() error { return a.as(cluster.Human).Update(a.ctx, set()) },
	} {
		a.Expect(write()).To(Succeed(), name)
		a.Expect(a.requests()).To(Equal(before), "%s was sent", name)
	}
	// The counter does count, and a removal is for the mutating webhook alone.
	a.Expect(a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: nil})).To(Succeed())
	a.Expect(a.requests()).To(Equal(before + 1))
	a.Expect(a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: approvedProd})).To(Succeed())
	a.Expect(a.requests()).To(Equal(before + 3))

	// One that is being deleted is nobody's business.
	s := set()
	s.Finalizers = []string{"example.com/hold"}
	a.Expect(shared.Admin.Update(a.ctx, s)).To(Succeed())
	a.Expect(shared.Admin.Delete(a.ctx, s)).To(Succeed())
	before = a.requests()
	a.Expect(a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: "1@1.0"})).To(Succeed())
	a.Expect(a.requests()).To(Equal(before))
	a.Expect(shared.Admin.Patch(a.ctx, set(),
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
}

func TestWhileStepgateIsDownOnlyApprovalsAreRefused(t *testing.T) {
	a := newApprovals(t)
	a.Expect(a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: approvedProd})).To(Succeed())
	a.replica.Kill()

	for name, approve := range map[string]any{"another approval": approvedProd + ",2@" + guestbook.NewCommit,
		"one less, and another": "2@" + guestbook.NewCommit} {
		err := a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: approve})
		a.Expect(apierrors.IsInternalError(err)).To(BeTrue(), "%s: %v", name, err)
		a.Expect(err).To(MatchError(ContainSubstring(`failed calling webhook "approval.stepgate.io"`)))
	}
	a.Expect(a.annotateAs("bob", map[string]any{settings.ApprovedByAnnotation: "[]"})).NotTo(Succeed())
	a.Expect(a.annotateAs("alice", map[string]any{
		settings.PauseAnnotation: "all", settings.ModeAnnotation: "off", "note": "x",
	})).To(Succeed())
	a.Expect(a.annotateAs("alice", map[string]any{settings.PauseAnnotation: nil})).To(Succeed())
	a.Expect(a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: nil})).To(Succeed(),
		"an approval can be taken back")
	a.Expect(a.as(cluster.ApplicationSetAccount).Patch(a.ctx, a.Set.DeepCopy(),
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"goTemplate":true}}`)))).To(Succeed())

	// The emergency switch.
	a.Expect(shared.Admin.Patch(a.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}},
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"stepgate.io/ignore":"true"}}}`)))).To(Succeed())
	a.Eventually(func() error {
		return a.annotateAs("alice", map[string]any{settings.ApprovedAnnotation: approvedProd})
	}).Should(Succeed())
}
