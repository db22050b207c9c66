// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// writeForms are all the ways in which an operation can reach the API server.
var writeForms = map[string]func(r *rollout, env string) error{
	"PUT": func(r *rollout, env string) error {
		app := r.app(env)
		app.Operation = guestbook.UserSync("admin")
		return r.as(cluster.ServerAccount).Update(r.ctx, app)
	},
	"JSON patch": func(r *rollout, env string) error {
		return r.as(cluster.Human).Patch(r.ctx, r.app(env), client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op":"add","path":"/operation","value":{"sync":{}}}]`)))
	},
	"merge patch": func(r *rollout, env string) error {
		return r.as(cluster.ControllerAccount).Patch(r.ctx, r.app(env), client.RawPatch(types.MergePatchType,
			[]byte(`{"operation":{"initiatedBy":{"username":"applicationset-controller"},"sync":{"prune":true}}}`)))
	},
	"server-side apply": func(r *rollout, env string) error {
		app := r.app(env)
		text, err := json.Marshal(map[string]any{
			"apiVersion": argo.SchemeGroupVersion.String(), "kind": "Application",
			"metadata":  map[string]any{"name": app.Name, "namespace": app.Namespace},
			"operation": map[string]any{"sync": map[string]any{}},
		})
		if err != nil {
			return err
		}
		return r.as(cluster.Human).Patch(r.ctx, app, client.RawPatch(types.ApplyPatchType, text), client.FieldOwner("jane"))
	},
	"create with operation": func(r *rollout, env string) error {
		app := r.app(env)
		r.Expect(shared.Admin.Delete(r.ctx, app)).To(Succeed())
		app = guestbook.Application(r.Set, env)
		app.Operation = guestbook.UserSync("admin")
		return r.as(cluster.Human).Create(r.ctx, app)
	},
}

func TestEveryWriteFormIsJudged(t *testing.T) {
	for form, write := range writeForms {
		t.Run(form, func(t *testing.T) {
			r := newRollout(t)
			if form == "create with operation" {
				r.Expect(write(r, "prod")).To(Succeed(), "it has to be there, so that Argo CD can compare it")
				r.Expect(r.app("prod").Operation).To(BeNil())
				r.Expect(r.changed("held", "ContentUnknown")).To(BeNumerically("==", 1))
				return
			}
			r.denied(write(r, "prod"), bothBlock...)
		})
	}
}

func TestEveryWriteFormIsAdmittedWhenEarlierStepsAreDone(t *testing.T) {
	for form, write := range writeForms {
		if form == "create with operation" {
			// nobody knows what it deploys: it is held
			continue
		}
		t.Run(form, func(t *testing.T) {
			r := newRollout(t)
			r.done("dev")
			r.done("qa")

			r.Expect(write(r, "prod")).To(Succeed())
			r.Expect(r.stored("prod")).To(BeTrue())
			r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "outcome", "allow", "reason",
				"EarlierStepsDone")).To(BeNumerically("==", 1))
		})
	}
}

func TestARolloutGoesStepByStep(t *testing.T) {
	r := newRollout(t)

	r.denied(r.sync(cluster.ControllerAccount, "qa"), "NotHealthy engineering-dev-guestbook")
	r.Expect(r.sync(cluster.ControllerAccount, "dev")).To(Succeed())
	r.done("dev")
	r.Expect(r.sync(cluster.ControllerAccount, "qa")).To(Succeed())
	r.denied(r.sync(cluster.ControllerAccount, "prod"), "OperationInProgress engineering-qa-guestbook")
	r.done("qa")
	r.Expect(r.sync(cluster.ControllerAccount, "prod")).To(Succeed())
}

func TestAnEarlierStepAtTheOldRevisionIsNotDone(t *testing.T) {
	r := newRollout(t)
	r.done("qa")
	r.Expect(r.update(cluster.ControllerAccount, "dev", func(app *argo.Application) {
		guestbook.Compare(app, r.Now().Add(-1e12), guestbook.OldCommit, argo.SyncStatusCodeSynced, "Healthy")
	})).To(Succeed())

	r.denied(r.sync(cluster.ControllerAccount, "prod"), "NotCompleted engineering-dev-guestbook")
}
