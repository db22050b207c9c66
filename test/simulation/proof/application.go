// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	argohealth "github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	namespace = "argocd"
	setName   = "shop"
	setUID    = "set"
	mostRan   = 8
)

// names are the Applications, one in each step.
var names = [3]string{"dev", "qa", "prod"}

// second is a time of the world; 0 is none.
type second int32

// began is second 0.
var began = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

func (s second) time() time.Time { return began.Add(time.Duration(s) * time.Second) }

func (s second) stamp() *metav1.Time {
	if s == 0 {
		return nil
	}
	return &metav1.Time{Time: s.time()}
}

// revision numbers the commits, from 0; none is what was never compared.
type revision int8

const none revision = -1

func (r revision) text() string {
	if r == none {
		return ""
	}
	return "c" + strconv.Itoa(int(r))
}

// revisionOf is the revision with a text.
func revisionOf(text string) revision {
	if n, err := strconv.Atoi(text[min(1, len(text)):]); err == nil {
		return revision(n)
	}
	return none
}

// health is what Argo CD finds of the resources that are deployed.
type health string

const (
	healthy     health = "Healthy"
	degraded    health = "Degraded"
	progressing health = "Progressing"
	missing     health = "Missing"
)

// phase is how far an operation has come.
type phase string

const (
	running   phase = "Running"
	succeeded phase = "Succeeded"
	failed    phase = "Failed"
)

// application is what differs between the states of an Application, as the API server has it.
type application struct {
	// number is its place in names.
	number int8
	// at is what it was last compared with, at a time, and synced and health are what that has found.
	at         revision
	comparedAt second
	synced     bool
	health     health
	since      second
	// requested is the annotation for a refresh.
	requested bool
	operation operation
	// ran is its history, oldest first.
	ran [mostRan]entry
}

// operation is the last one. Its text is the JSON that was stored; empty if there was none.
type operation struct {
	text     opText
	revision revision
	full     bool
	phase    phase
	// applied says that it came to the hooks that run after everything is applied.
	applied           bool
	started, finished second
}

// opText is the JSON of an operation, with its stamp.
type opText string

// entry is one of the history.
type entry struct {
	revision revision
	// by says that a person started it.
	by          bool
	started, at second
}

// history are the entries that there are.
func (a *application) history() []entry {
	n := slices.IndexFunc(a.ran[:], func(e entry) bool { return e.at == 0 })
	if n < 0 {
		n = len(a.ran)
	}
	return a.ran[:n]
}

// record puts an entry after the others, and takes the oldest one away where there is no room.
func (a *application) record(e entry) {
	n := len(a.history())
	if n == len(a.ran) {
		copy(a.ran[:], a.ran[1:])
		n--
	}
	a.ran[n] = e
}

func (a *application) operates() bool { return a.operation.phase == running }

// object is an Application as the API server has it. It is never changed.
type object struct {
	application
	version    string
	form       form
	projection *argocd.Projection
}

// objects has one object for each state of an Application.
type objects struct {
	all map[application]*object
}

func (o *objects) of(a application) *object {
	found := o.all[a]
	if found == nil {
		found = &object{application: a, version: strconv.Itoa(len(o.all) + 1), form: formOf(&a, nobodyAsks...)}
		found.projection = argocd.NewProjection(found.build())
		o.all[a] = found
	}
	return found
}

// build is the Application as Argo CD has it.
func (o *object) build() *argo.Application {
	app := o.application.build()
	app.ResourceVersion = o.version
	return app
}

func encode(object any) []byte {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // it is plain data
	}
	return raw
}

func uid(number int8) types.UID { return types.UID(names[number]) }

func sourceOf(number int8) argo.ApplicationSource {
	return argo.ApplicationSource{
		RepoURL: "https://git.example.com/shop", TargetRevision: "main", Path: names[number],
	}
}

var inCluster = argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "shop"}

// build is the Application as Argo CD has it.
func (a *application) build() *argo.Application {
	yes, source := true, sourceOf(a.number)
	app := &argo.Application{}
	app.TypeMeta = metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "Application"}
	app.Name, app.Namespace, app.UID = names[a.number], namespace, uid(a.number)
	app.Labels = map[string]string{"step": strconv.Itoa(int(a.number) + 1)}
	app.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: setName, UID: setUID, Controller: &yes},
	}
	if a.requested {
		app.Annotations = map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeNormal)}
	}
	app.Spec = argo.ApplicationSpec{Project: "default", Source: &source, Destination: inCluster}
	if a.at != none {
		app.Status.Sync = argo.SyncStatus{
			Status: argo.SyncStatusCodeOutOfSync, Revision: a.at.text(),
			ComparedTo: argo.ComparedTo{Source: source, Destination: inCluster},
		}
		if a.synced {
			app.Status.Sync.Status = argo.SyncStatusCodeSynced
		}
		app.Status.Health.Status = argohealth.HealthStatusCode(a.health)
		app.Status.Health.LastTransitionTime = a.since.stamp()
		app.Status.ReconciledAt = a.comparedAt.stamp()
	}
	for i, e := range a.history() {
		h := argo.RevisionHistory{
			ID: int64(i), Revision: e.revision.text(), Source: source, DeployedAt: *e.at.stamp(),
			DeployStartedAt: e.started.stamp(),
			InitiatedBy:     argo.OperationInitiator{Username: "applicationset-controller", Automated: true},
		}
		if e.by {
			h.InitiatedBy = argo.OperationInitiator{Username: person}
		}
		app.Status.History = append(app.Status.History, h)
	}
	a.operation.put(app, source)
	return app
}

// put writes the operation into an Application: as long as it runs, it is in the specification as well.
func (o *operation) put(app *argo.Application, source argo.ApplicationSource) {
	if o.text == "" {
		return
	}
	op := o.text.decode()
	state := &argo.OperationState{
		Operation: op, Phase: synccommon.OperationPhase(o.phase), StartedAt: *o.started.stamp(),
		FinishedAt: o.finished.stamp(),
		SyncResult: &argo.SyncOperationResult{Revision: o.revision.text(), Source: source},
	}
	if o.applied {
		state.SyncResult.Resources = argo.ResourceResults{
			{Group: "batch", Kind: "Job", Name: "smoke", HookType: "PostSync", SyncPhase: "PostSync", HookPhase: "Failed"},
		}
	}
	app.Status.OperationState = state
	if o.phase == running {
		app.Operation = &op
	}
}

func (t opText) decode() (op argo.Operation) {
	if err := json.Unmarshal([]byte(t), &op); err != nil {
		panic(err) // it was encoded here
	}
	return op
}
