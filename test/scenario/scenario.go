// SPDX-License-Identifier: Apache-2.0

// Package scenario writes rollouts down in a line, for tests without an API server: "1:dev=Healthy@b 3:prod=Degraded"
// is two Applications of argocd/guestbook in step 1 and 3. They are real objects of Argo CD, and go through the real
// projection and the real rule.
package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	jsonpatch "github.com/evanphx/json-patch/v5"
	operations "gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// The accounts of Argo CD's parts.
const (
	ArgoCDServer             = "system:serviceaccount:argocd:argocd-server"
	ApplicationSetController = "system:serviceaccount:argocd:argocd-applicationset-controller"
	ApplicationController    = "system:serviceaccount:argocd:argocd-application-controller"
)

// Noon is the time of every test that does not move its clock.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// AtNoon is a clock that stands still.
var AtNoon = clocktesting.NewFakePassiveClock(Noon)

// Cluster is a judge.Evaluator over objects of Argo CD.
type Cluster struct {
	Sets []*argo.ApplicationSet
	Apps []*argo.Application
	// Tracking finds the children of parents.
	Tracking argocd.Tracking

	mu sync.Mutex
	// Reads counts the reads, and FailAt is the number of the one that fails, counted from 1.
	Reads, FailAt int
}

// ErrRead is the error of a read that fails.
var ErrRead = errors.New("etcdserver: request timed out")

func (c *Cluster) read() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Reads++; c.Reads == c.FailAt {
		return ErrRead
	}
	return nil
}

// ApplicationSet is judge.Evaluator.
func (c *Cluster) ApplicationSet(_ context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("get ApplicationSet %s: %w", name, err)
	}
	set, _ := Watched{c}.Set(name)
	return set, nil
}

// Evaluate is judge.Evaluator.
func (c *Cluster) Evaluate(_ context.Context, in policy.Input, open policy.Decision) (policy.Decision, error) {
	if err := c.read(); err != nil {
		return policy.Decision{}, fmt.Errorf("list Applications: %w", err)
	}
	in.Siblings = nil
	for _, p := range (Watched{c}).Owned(types.UID(in.ApplicationSet.UID)) {
		in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&p.Application))
	}
	return policy.Weigh(in, open), nil
}

// Named is judge.Evaluator.
func (c *Cluster) Named(_ context.Context, name types.NamespacedName) (judge.Named, error) {
	if err := c.read(); err != nil {
		return judge.Named{}, fmt.Errorf("read %s: %w", name, err)
	}
	return judge.NamedKnown(Watched{c}, name), nil
}

// Untouchable is a judge.Evaluator for writes that need no read: a test that reads fails.
type Untouchable struct{ T testing.TB }

// ApplicationSet is judge.Evaluator.
func (u Untouchable) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	u.T.Error("the ApplicationSet was read")
	return nil, ErrRead
}

// Evaluate is judge.Evaluator.
func (u Untouchable) Evaluate(context.Context, policy.Input, policy.Decision) (policy.Decision, error) {
	u.T.Error("the siblings were read")
	return policy.Decision{}, ErrRead
}

// Named is judge.Evaluator.
func (u Untouchable) Named(context.Context, types.NamespacedName) (judge.Named, error) {
	u.T.Error("something else was read")
	return judge.Named{}, ErrRead
}

// Of makes argocd/guestbook with three steps and the Applications of a scenario: "STEP:NAME=HEALTH@REVISION",
// the revision a letter, "a" when left out. Every Application is Synced and compared at its revision.
func Of(scenario string) *Cluster {
	c := &Cluster{Sets: []*argo.ApplicationSet{RollingSync("guestbook", "1", "2", "3")}}
	for _, text := range strings.Fields(scenario) {
		step, rest, _ := strings.Cut(text, ":")
		name, rest, _ := strings.Cut(rest, "=")
		status, revision, _ := strings.Cut(rest, "@")
		c.Apps = append(c.Apps, App(name, step, status, revision))
	}
	return c
}

// RollingSync is an ApplicationSet with a step for each value of the label "step".
func RollingSync(name string, steps ...string) *argo.ApplicationSet {
	set := &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, UID: types.UID(name + "-uid")},
	}
	rollout := &argo.ApplicationSetRolloutStrategy{}
	for _, step := range steps {
		rollout.Steps = append(rollout.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: "step", Operator: "In", Values: []string{step}}},
		})
	}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: rollout}
	return set
}

// Waves makes argocd/platform, a parent, and its children: "WAVE:NAME=HEALTH@REVISION", as Of. A wave of "-" is no
// annotation.
func Waves(children string) *Cluster {
	parent := App("platform", "", "Healthy", "")
	parent.OwnerReferences, parent.Labels = nil, nil
	parent.Annotations = map[string]string{argocd.WavesAnnotation: "true"}
	c := Of(children)
	for _, app := range c.Apps {
		wave := app.Labels["step"]
		app.OwnerReferences, app.Labels = nil, nil
		app.Annotations = map[string]string{
			common.AnnotationKeyAppInstance: "platform:argoproj.io/Application:argocd/" + app.Name,
		}
		if wave != "-" {
			app.Annotations[synccommon.AnnotationSyncWave] = wave
		}
	}
	c.Sets, c.Apps = nil, append(c.Apps, parent)
	return c
}

// Commit is the commit that a letter stands for.
func Commit(letter string) string { return strings.Repeat(letter, 40) }

// App is an Application of argocd/guestbook, Synced and compared at a revision, which is a letter.
func App(name, step, status, revision string) *argo.Application {
	if revision == "" {
		revision = "a"
	}
	source := argo.ApplicationSource{RepoURL: "https://git.example.com/deploy.git", Path: name, TargetRevision: "main"}
	destination := argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: name}
	return &argo.Application{
		TypeMeta: metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "Application"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{"step": step},
			OwnerReferences: []metav1.OwnerReference{OwnedBy("guestbook")},
		},
		Spec: argo.ApplicationSpec{Project: "default", Source: &source, Destination: destination},
		Status: argo.ApplicationStatus{
			Health:       argo.AppHealthStatus{Status: health.HealthStatusCode(status)},
			ReconciledAt: ptr.To(metav1.NewTime(Noon.Add(-time.Minute))),
			Sync: argo.SyncStatus{
				Status: "Synced", Revision: Commit(revision),
				ComparedTo: argo.ComparedTo{Source: source, Destination: destination},
			},
		},
	}
}

// OwnedBy is the reference to an ApplicationSet of RollingSync.
func OwnedBy(set string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set, UID: types.UID(set + "-uid"),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// Attempt is one write of an Application. Before is nil for a CREATE; After is nil for a DELETE.
type Attempt struct {
	Before, After *argo.Application
	User          string
	DryRun        bool
}

// SyncOf is what the ApplicationSet controller writes to start a sync of a live Application.
func SyncOf(c *Cluster, name string) *Attempt {
	for _, app := range c.Apps {
		if app.Name == name {
			a := &Attempt{Before: app, After: app.DeepCopy(), User: ApplicationSetController}
			a.After.Operation = &argo.Operation{
				Sync:        &argo.SyncOperation{SyncOptions: argo.SyncOptions{"RespectIgnoreDifferences=true"}},
				InitiatedBy: argo.OperationInitiator{Username: "applicationset-controller", Automated: true},
				Info: []*argo.Info{
					{Name: "Reason", Value: "ApplicationSet RollingSync triggered a sync of this Application resource"},
				},
			}
			return a
		}
	}
	panic("no Application " + name)
}

// Encode is an object as the API server sends it.
func Encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// Raw is an Application as the API server sends it; nil if there is none.
func Raw(app *argo.Application) []byte {
	if app == nil {
		return nil
	}
	return Encode(app)
}

// Request is what the API server sends to a webhook.
func (a *Attempt) Request() admissionv1.AdmissionRequest {
	operation, named := admissionv1.Update, a.After
	switch {
	case a.Before == nil:
		operation = admissionv1.Create
	case a.After == nil:
		operation, named = admissionv1.Delete, a.Before
	}
	return admissionv1.AdmissionRequest{
		UID:       "request-uid",
		Kind:      metav1.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
		Resource:  metav1.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"},
		Namespace: named.Namespace, Name: named.Name, Operation: operation,
		UserInfo: authenticationv1.UserInfo{Username: a.User},
		Object:   runtime.RawExtension{Raw: Raw(a.After)}, OldObject: runtime.RawExtension{Raw: Raw(a.Before)},
		DryRun: ptr.To(a.DryRun),
	}
}

// Pinned is a request with the operation as the Mutator leaves it where that does not wait.
func Pinned(req admissionv1.AdmissionRequest) admissionv1.AdmissionRequest {
	w, err := judge.NewWrite(req, argocd.Tracking{})
	if err != nil {
		return req
	}
	pin := argocd.NewPin(w.App, w.Old, nil)
	if w.Target.Operation.Written {
		_, stamp := argocd.Stamped(pin.Pinned(w.App), w.Old)
		req.Object.Raw = Patched(req.Object.Raw, append(pin.Patches, stamp...))
	}
	return req
}

// Patched is an object after patches.
func Patched(raw []byte, patches []operations.Operation) []byte {
	patch, err := jsonpatch.DecodePatch(Encode(patches))
	if err != nil {
		panic(err)
	}
	if raw, err = patch.Apply(raw); err != nil {
		panic(err)
	}
	return raw
}

// Pending lets the ApplicationSet's status record Applications as Pending.
func Pending(c *Cluster, names ...string) {
	for _, app := range c.Apps {
		if slices.Contains(names, app.Name) {
			record := argo.ApplicationSetApplicationStatus{Application: app.Name, Step: app.Labels["step"], Status: "Pending"}
			c.Sets[0].Status.ApplicationStatus = append(c.Sets[0].Status.ApplicationStatus, record)
		}
	}
}
