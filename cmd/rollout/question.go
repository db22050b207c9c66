// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Question asks what would become of an operation of an Application.
type Question struct {
	// Live is the Application as it is stored, and App the same as Argo CD's type.
	Live *unstructured.Unstructured
	App  *argo.Application
	// Operation is the one that a user wants; nil for the one that Argo CD would ask for by itself.
	Operation *argo.Operation
	// Config has the accounts of Argo CD, and By says whose settings these are.
	Config settings.Config
	By     string
}

// asked is the operation that is judged.
func (q *Question) asked(by Writer) *argo.Operation {
	if q.Operation != nil {
		return q.Operation
	}
	return NextOperation(q.App, by)
}

// Order is the known ApplicationSet that orders an Application, or the order that a parent gives it; nil if none is known.
func Order(known judge.KnownSets, config settings.Config, p *argocd.Projection) *argocd.ApplicationSet {
	p = p.Member()
	set, _ := known.Set(types.NamespacedName{Namespace: p.Namespace, Name: p.Set})
	if set == nil || types.UID(set.UID) != p.Owner {
		return nil
	}
	return cmp.Or(judge.OrderOf(config, set, known), set)
}

// writer is who asks for the operation. Where nobody in Argo CD syncs the Application, somebody does: the ApplicationSet
// controller starts no sync by waves, nor of what it does not control.
func (q *Question) writer(controlled, waves bool) Writer {
	if by := WriterOf(q.App); q.Operation == nil && (controlled && !waves || by == AutoSync) {
		return by
	}
	return User
}

// Explain answers a Question by what is known. The preview judges with the settings of the Question.
func Explain(ctx context.Context, preview *webhook.Preview, known Known, q Question) (*Explanation, error) {
	app := q.App
	x := &Explanation{
		TypeMeta:  metav1.TypeMeta{APIVersion: APIVersion, Kind: "Explanation"},
		Namespace: app.Namespace, Application: app.Name,
		Health: cmp.Or(string(app.Status.Health.Status), "Unknown"), Sync: cmp.Or(string(app.Status.Sync.Status), "Unknown"),
		Settings: q.By,
	}
	var ahead *outlook.Outlook
	slots := ""
	p := q.Config.Tracking.Projection(app)
	set := Order(known, q.Config, p)
	switch {
	case set != nil:
		x.ApplicationSet = set.Namespace + "/" + set.Name
		ahead = preview.Outlook(set)
		x.waves = wavesOf(ahead)
		x.Steps, slots = max(len(set.Steps), len(x.waves)), ahead.SlotsProblem()
	case p.Controlled():
		x.ApplicationSet = app.Namespace + "/" + p.Set
	case p.FollowsAlone():
		ahead = preview.Outlook(argocd.Alone(p.Namespace, p.UID, p.Annotations))
	}
	x.member = p.Member().Name
	x.By = q.writer(p.Controlled(), set != nil && set.Waves)
	x.asked = q.asked(x.By)
	account := "system:serviceaccount:" + app.Namespace + ":argocd-applicationset-controller"
	switch x.By {
	case ApplicationSetController:
	case User:
		account = oneOf(q.Config.ServerAccounts)
	case AutoSync:
		account = "system:serviceaccount:" + app.Namespace + ":argocd-application-controller"
	}
	request, err := Request(q.Live, x.asked, account)
	if err != nil {
		return nil, err
	}
	answer, err := preview.Write(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("judge the operation: %w", err)
	}
	x.Names(x.asked, app.Status.GetRevisions())
	x.Judged(answer)
	x.lookAhead(ahead, answer)
	if slots != "" && (x.Outcome == Allowed || answer.Reason == policy.MaxUpdateReached) {
		x.Problems = append(x.Problems, slots)
	}
	if q.Operation == nil &&
		(app.Operation != nil || app.Status.OperationState != nil && app.Status.OperationState.Phase == "Running") {
		x.Outcome, x.Needs, x.Blockers, x.Message = Running, nil, nil, ""
	}
	x.Says, x.Deployed = Says(app), deployed(p)
	return x, nil
}

// lookAhead fills in the needs.
func (e *Explanation) lookAhead(ahead *outlook.Outlook, answer *webhook.Answer) {
	if ahead == nil {
		return
	}
	var unmet []policy.Decision
	if answer.Reason.Condition() && answer.Input.ApplicationSet != nil {
		unmet = policy.Unmet(answer.Input)
	}
	for i := range ahead.Applications {
		if p := ahead.Applications[i]; p.Name == e.member && answer.Outcome == policy.Deny {
			for _, n := range ahead.Roots(p, answer.Decision, unmet) {
				e.Needs = append(e.Needs, needOf(&n, ahead.Set, e.waves))
			}
		}
	}
	for _, n := range needsOf(ahead.Needs().All, ahead.Set, e.waves) {
		if n.Application == e.member {
			e.Own = append(e.Own, n)
		}
	}
}

// deployed says what the stamp of the last full sync tells, beside the spec of now.
func deployed(p *argocd.Projection) string {
	was, is := p.Deployed, p.Content
	content := "content " + cmp.Or(was.Revised, "of a sync that failed")
	switch {
	case p.Application.LastOperation.StartedAt.IsZero(), was.Around == "" && p.Application.SyncStatus == "Synced":
		return ""
	case was.Around == "":
		return "its last full sync has no stamp of stepgate: until it is found Synced, its spec counts as changed since"
	case was.Parameters == is.Parameters && was.Around == is.Around:
		return content + "; its spec says the same"
	case was.Parameters == is.Parameters:
		return content + "; what is around its sources has changed since, such as the destination"
	}
	return content + "; its sources or their parameters have changed since"
}

// oneOf is one of the accounts; empty if there is none, which is nobody's.
func oneOf(accounts []string) string {
	if len(accounts) == 0 {
		return ""
	}
	return accounts[0]
}
