// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

// realistic is an Application of the size that real ones have, with every field set that a decision needs.
func realistic() *argo.Application {
	app := multi()
	deployed := at(0)
	app.ResourceVersion, app.Generation, app.CreationTimestamp = "123456", 42, *deployed
	app.Annotations = map[string]string{
		argo.AnnotationKeyRefresh: "normal", "kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("{}", 500),
	}
	app.Labels["env"] = "prod"
	app.Finalizers = []string{"resources-finalizer.argocd.argoproj.io"}
	app.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "argocd-application-controller", Operation: "Update", FieldsType: "FieldsV1", Time: deployed,
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{` + strings.Repeat(`"f:health":{},`, 100) + `"f:sync":{}}}`),
	}}
	app.Spec.Sources[0].Helm = &argo.ApplicationSourceHelm{
		ValueFiles: []string{"$values/prod.yaml"}, Parameters: []argo.HelmParameter{{Name: "replicas", Value: "3"}},
		ValuesObject: &runtime.RawExtension{Raw: []byte(`{"image":{"tag":"1.2.3"},"replicas":3}`)},
	}
	app.Status.Sync.ComparedTo.Sources = app.Spec.DeepCopy().Sources
	app.Operation = &argo.Operation{
		Sync: &argo.SyncOperation{
			Revisions: []string{commit("a"), commit("b")}, Sources: app.Spec.DeepCopy().Sources,
			SyncStrategy: &argo.SyncStrategy{Hook: &argo.SyncStrategyHook{SyncStrategyApply: argo.SyncStrategyApply{Force: true}}},
			SyncOptions:  argo.SyncOptions{"ServerSideApply=true"}, Resources: []argo.SyncOperationResource{{Kind: "ConfigMap", Name: "one"}},
		},
		InitiatedBy: argo.OperationInitiator{Username: "alice"},
		Info:        []*argo.Info{{Name: "Reason", Value: "because"}, {Name: "stepgate.io/bypass", Value: "INC-1"}},
		Retry:       argo.RetryStrategy{Limit: 5, Backoff: &argo.Backoff{Duration: "5s", Factor: ptr.To(int64(2))}},
	}
	for i := range 10 {
		app.Status.History = append(app.Status.History, argo.RevisionHistory{
			ID: int64(i), DeployedAt: *deployed, DeployStartedAt: deployed, Revisions: []string{commit(fmt.Sprint(i % 3)), commit("b")}, Sources: app.Spec.DeepCopy().Sources,
		})
	}
	for i := range 30 {
		app.Status.Resources = append(app.Status.Resources, argo.ResourceStatus{
			Version: "v1", Kind: "ConfigMap", Namespace: "prod", Name: fmt.Sprint("config-", i), Status: "Synced", Health: &argo.HealthStatus{Status: "Healthy"},
		})
	}
	return app
}

// TestDecodeKeepsWhatATargetNeeds compares with Argo CD's own types: an object that went through those gives the same
// Target. The decoder's short types then have the names and the types of Argo CD's fields.
func TestDecodeKeepsWhatATargetNeeds(t *testing.T) {
	full := encoded(t, realistic())
	NewWithT(t).Expect(len(full)).To(BeNumerically("~", 13_000, 3_000))
	hydrated := single()
	hydrated.Spec.SourceHydrator = &argo.SourceHydrator{
		DrySource: argo.DrySource{RepoURL: deployRepo, TargetRevision: "main", Path: "prod"}, SyncSource: argo.SyncSource{TargetBranch: "env/prod", Path: "prod"},
	}
	hydrated.Spec.Source = nil
	for name, raw := range map[string][]byte{
		"a realistic one":             full,
		"one source":                  encoded(t, single()),
		"a source hydrator":           encoded(t, hydrated),
		"an empty one":                []byte(`{}`),
		"unknown fields are passed":   []byte(`{"future":{"a":[1]},"metadata":{"name":"x","future":1},"spec":{"future":1},"status":{"future":1,"sync":{"future":1}}}`),
		"nulls are passed":            []byte(`{"metadata":{"name":null,"labels":null,"ownerReferences":null},"operation":null,"spec":{"source":null},"status":{"sync":null,"history":null,"reconciledAt":null}}`),
		"names in capitals are none":  []byte(`{"Metadata":{"name":"x"},"metadata":{"NAME":"y","Labels":{"a":"b"}},"STATUS":{"reconciledAt":"2026-03-01T12:00:00Z"}}`),
		"large integers are integers": []byte(`{"metadata":{"generation":9223372036854775807},"status":{"history":[{"id":9223372036854775807}]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var typed argo.Application
			g.Expect(k8sjson.Unmarshal(raw, &typed)).To(Succeed())
			app, err := Decode(raw)
			g.Expect(err).NotTo(HaveOccurred())

			want := decoded(t, &typed)
			g.Expect(Tracking{}.Target(app, app)).To(Equal(Tracking{}.Target(want, want)))
			g.Expect(Tracking{}.Target(app, nil)).To(Equal(Tracking{}.Target(want, nil)))
			g.Expect(app.Metadata.UID).To(Equal(typed.UID))
			g.Expect(Tracking{}.Owners(app)).To(Equal(Tracking{}.Owners(want)))
			if typed.Operation != nil {
				g.Expect(app.Operation.Operation).To(Equal(*typed.Operation))
			}
		})
	}
}

// TestEveryFieldOfATargetIsFilled fails when policy.Target has a field that nothing decodes: a row of the rule that
// asks for it would always see its zero value.
func TestEveryFieldOfATargetIsFilled(t *testing.T) {
	write := realistic()
	write.DeletionTimestamp = at(54)
	write.Operation.Sync.DryRun = true
	write.Operation.InitiatedBy.Automated = true
	write.Operation.Sync.Revisions = write.Status.History[0].Revisions
	write.Status.OperationState = &argo.OperationState{
		Phase: "Succeeded", StartedAt: *at(51), FinishedAt: at(52), Operation: argo.Operation{Sync: &argo.SyncOperation{}},
	}
	write.Status.Sync.Status, write.Status.ReconciledAt = "OutOfSync", at(53)
	write.Spec.Sources[0].Path, write.Status.Sync.ComparedTo.Sources[0].Path = "elsewhere", "elsewhere"
	write.Annotations[common.AnnotationKeyAppSkipReconcile] = "true"
	target := targetOf(t, write)
	dry := hydrated() // it has one source
	dry.Status.SourceHydrator.CurrentOperation = &argo.HydrateOperation{Phase: argo.HydrateOperationPhaseHydrating}
	target.Hydration = targetOf(t, dry).Hydration
	stopped := application()
	same := argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}
	operate(NewWithT(t), stopped, same, "Failed", 40)
	stopped.Status.OperationState.Message = "Operation terminated"
	target.Stopped = Tracking{}.Target(asked(NewWithT(t), stopped, same)).Stopped
	checkFilled(NewWithT(t), "Target", reflect.ValueOf(target))
}

// checkFilled asks that no field below a value is zero.
func checkFilled(g *WithT, name string, v reflect.Value) {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		g.Expect(v.IsZero()).To(BeFalse(), "%s is not filled", name)
		return
	}
	for i := range v.NumField() {
		checkFilled(g, name+"."+v.Type().Field(i).Name, v.Field(i))
	}
}

func TestDecodeWithoutObject(t *testing.T) {
	for name, raw := range map[string]string{"nothing": "", "null": "null"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app, err := Decode([]byte(raw))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(app).To(BeNil())
		})
	}
}

func encoded(t *testing.T, app *argo.Application) []byte {
	t.Helper()
	raw, err := json.Marshal(app)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return raw
}
