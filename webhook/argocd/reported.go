// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// An agent may bring an Application to the Argo CD of another cluster, and write back what that says of it. OCM's add-on
// marks such an Application so that no Argo CD here looks at it, and writes health, sync status, revision, phase and start
// of the operation alone. argocd-agent writes the whole status.

// agentManager is the field manager of argocd-agent. It writes the status of the Applications of agents in managed mode.
const agentManager = "argocd-agent"

// unreconciled reads the annotation argocd.argoproj.io/skip-reconcile. It mirrors canProcessApp of argo-cd v3.5.7,
// controller/appcontroller.go.
func unreconciled(annotation string) bool {
	skip, err := strconv.ParseBool(annotation)
	return err == nil && skip
}

// skipped reports whether no Argo CD here looks at an Application.
func skipped(app *argo.Application) bool {
	return unreconciled(app.Annotations[common.AnnotationKeyAppSkipReconcile])
}

// managers are who has written an object.
type managers struct{ agent bool }

// UnmarshalJSON looks at the text, which an API server writes without spaces: nothing else of it is needed.
func (m *managers) UnmarshalJSON(raw []byte) error {
	m.agent = bytes.Contains(raw, []byte(`"manager":"`+agentManager+`"`))
	return nil
}

// managersOf are who has written an object, as its managed fields tell.
func managersOf(fields []metav1.ManagedFieldsEntry) (m managers) {
	for _, f := range fields {
		m.agent = m.agent || f.Manager == agentManager
	}
	return m
}

// relayed reports whether argocd-agent writes when an Application was compared. On the cluster of an agent it writes the
// spec and operations alone.
func relayed(app *argo.Application) bool {
	return slices.ContainsFunc(app.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == agentManager && f.FieldsV1 != nil &&
			strings.Contains(f.FieldsV1.GetRawString(), `"f:reconciledAt"`)
	})
}

// comparedElsewhere is what a comparison that was made elsewhere was with, as Argo CD would have written it here. One
// that does not say counts for the spec that the Application had when it was reported. The one of argocd-agent has the
// destination that an Application gets on the cluster of its agent.
func comparedElsewhere(spec *argo.ApplicationSpec, sync *argo.SyncStatus) argo.ComparedTo {
	with := sync.ComparedTo
	switch {
	case sync.Status == "":
	case with.Source.IsZero() && len(with.Sources) == 0:
		return spec.BuildComparedToStatus(spec.GetSources())
	case with.Destination.Name == inCluster && with.Destination.Namespace == spec.Destination.Namespace:
		with.Destination = spec.Destination
	}
	return with
}

// asCompared is an Application with the comparison that the rule goes by. app itself stays as it is.
func asCompared(app *argo.Application) *argo.Application {
	if !skipped(app) && !managersOf(app.ManagedFields).agent {
		return app
	}
	next := *app
	next.Status.Sync.ComparedTo = comparedElsewhere(&app.Spec, &app.Status.Sync)
	return &next
}

// report completes an Application that nothing here compares with what is reported of it: a report has no times of a
// comparison, and no result of an operation. A failed operation counts for what is reported with it.
func report(p *policy.Application, app *argo.Application) {
	p.Reported = true
	if p.SyncStatus == "" {
		return
	}
	written := lastWritten(app, func(owned string) bool { return strings.Contains(owned, partStatus) })
	if written.IsZero() {
		written = p.LastOperation.StartedAt
	}
	if p.ReconciledAt.IsZero() {
		p.ReconciledAt = written
	}
	if p.HealthSince.IsZero() {
		p.HealthSince = written
	}
	if last := p.LastOperation; p.LastFull.Phase == "" && (last.Phase == "Failed" || last.Phase == "Error") {
		p.LastFull = policy.FullSync{Phase: last.Phase, StartedAt: last.StartedAt, AtCompared: true}
	}
}

// reportOf stands for what an agent reports of an Application; 0 if none does.
func reportOf(p *policy.Application) Fingerprint {
	if !p.Reported {
		return 0
	}
	return hashOf([]any{p.SyncStatus, p.Compared, p.LastOperation.StartedAt})
}

// partSpec, partStatus and partOwners are parts of an object, as the fields that a writer owns name them.
const partSpec, partStatus, partOwners = `"f:spec"`, `"f:status"`, `"f:ownerReferences"`

// specWritten is when a part of the spec was last added or changed, or a later time. OCM's add-on, which writes the
// status of an Application, writes its destination, too: its writes tell nothing of the spec.
func specWritten(app *argo.Application) time.Time {
	reported := skipped(app)
	return lastWritten(app, func(owned string) bool {
		return strings.Contains(owned, partSpec) && (!reported || !strings.Contains(owned, partStatus))
	})
}

// writtenByAnother reports whether somebody else than its ApplicationSet controller has written the spec of an Application
// last, when that had not written it for a while: so it is not about to write others. The controller is whoever has
// written the owner references, whatever its name.
func writtenByAnother(app *argo.Application) bool {
	own := lastWritten(app, func(owned string) bool { return strings.Contains(owned, partOwners) })
	other := lastWritten(app, func(owned string) bool {
		return strings.Contains(owned, partSpec) && !strings.Contains(owned, partOwners)
	})
	return !own.IsZero() && other.Sub(own) > policy.SettlingTime
}

// lastWritten is when a writer who owns certain fields last added or changed anything: the API server keeps that. That a
// part was taken away leaves no trace there. It is zero if nothing is kept.
func lastWritten(app *argo.Application, by func(owned string) bool) time.Time {
	var last time.Time
	for _, f := range app.ManagedFields {
		if f.Time != nil && f.FieldsV1 != nil && f.Time.After(last) && by(f.FieldsV1.GetRawString()) {
			last = f.Time.Time
		}
	}
	return last
}
