package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/webhook/siblings"
)

// realistic is an Application of the size that real ones have, with every field set that a decision needs.
func realistic() *argo.Application {
	app := multi()
	at := ptr.To(metav1.NewTime(noon))
	app.ResourceVersion, app.Generation, app.CreationTimestamp = "123456", 42, *at
	app.Annotations = map[string]string{argo.AnnotationKeyRefresh: "normal", "kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("{}", 500)}
	app.Labels["env"] = "prod"
	app.Finalizers = []string{"resources-finalizer.argocd.argoproj.io"}
	app.DeletionTimestamp = at
	app.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "argocd-application-controller", Operation: "Update", FieldsType: "FieldsV1", Time: at,
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
		Info:        []*argo.Info{{Name: "Reason", Value: "because"}, {Name: BypassInfo, Value: "INC-1"}},
		Retry:       argo.RetryStrategy{Limit: 5, Backoff: &argo.Backoff{Duration: "5s", Factor: ptr.To(int64(2))}},
	}
	for i := range 10 {
		app.Status.History = append(app.Status.History, argo.RevisionHistory{
			ID: int64(i), DeployedAt: *at, DeployStartedAt: at, Revisions: []string{commit(fmt.Sprint(i % 3)), commit("b")}, Sources: app.Spec.DeepCopy().Sources,
		})
	}
	for i := range 30 {
		app.Status.Resources = append(app.Status.Resources, argo.ResourceStatus{
			Version: "v1", Kind: "ConfigMap", Namespace: "prod", Name: fmt.Sprint("config-", i), Status: "Synced", Health: &argo.HealthStatus{Status: "Healthy"},
		})
	}
	return app
}

// The decoder skips most of an Application. What it keeps is what the full typed decoding of the same bytes gives.
func TestDecodeApplicationKeepsWhatTheRuleNeeds(t *testing.T) {
	full := rawOf(realistic())
	NewWithT(t).Expect(len(full)).To(BeNumerically("~", 13_000, 3_000))
	hydrated := single()
	hydrated.Spec.SourceHydrator = &argo.SourceHydrator{
		DrySource: argo.DrySource{RepoURL: deployRepo, TargetRevision: "main", Path: "prod"}, SyncSource: argo.SyncSource{TargetBranch: "env/prod", Path: "prod"},
	}
	hydrated.Spec.Source = nil
	for name, raw := range map[string][]byte{
		"a realistic one":             full,
		"one source":                  rawOf(single()),
		"a sync of one source":        encode(syncOf(clusterOf(open), "prod").after),
		"a rollback":                  encode(rolledBack().after),
		"a source hydrator":           rawOf(hydrated),
		"an empty one":                []byte(`{}`),
		"unknown fields are passed":   []byte(`{"future":{"a":[1]},"metadata":{"name":"x","future":1},"spec":{"future":1},"status":{"future":1,"sync":{"future":1}}}`),
		"nulls are passed":            []byte(`{"metadata":{"name":null,"labels":null,"ownerReferences":null},"operation":null,"spec":{"source":null},"status":{"sync":null,"history":null,"reconciledAt":null}}`),
		"names in capitals are none":  []byte(`{"Metadata":{"name":"x"},"metadata":{"NAME":"y","Labels":{"a":"b"}},"STATUS":{"reconciledAt":"2026-03-01T12:00:00Z"}}`),
		"large integers are integers": []byte(`{"metadata":{"generation":9223372036854775807},"status":{"history":[{"id":9223372036854775807}]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var typed argo.Application
			g.Expect(json.Unmarshal(raw, &typed)).To(Succeed())
			app, err := decodeApplication(raw)
			g.Expect(err).NotTo(HaveOccurred())

			want := siblings.Project(&typed)
			// Of siblings only, which are never decoded here: the target's own health and last success decide nothing.
			got := siblings.Project(app.Application)
			want.Health, want.LastSync = got.Health, got.LastSync
			want.LastOperation.FinishedAt, want.LastOperation.AtCompared = time.Time{}, false
			g.Expect(got).To(Equal(want))
			g.Expect(app.Operation).To(Equal(typed.Operation))
			g.Expect(app.UID).To(Equal(typed.UID))
			g.Expect(app.Namespace).To(Equal(typed.Namespace))
			g.Expect(owners(app)).To(Equal(owners(&object{Application: &typed})))
			if typed.Operation != nil {
				g.Expect(wanted(app.Application)).To(Equal(wanted(&typed)))
				g.Expect(rollsBack(app.Application)).To(Equal(rollsBack(&typed)))
				g.Expect(bypassInfo(app.Operation)).To(Equal(bypassInfo(typed.Operation)))
			}
		})
	}
}

func rolledBack() *attempt {
	a := syncOf(clusterOf(open), "prod")
	rollback(a)
	return a
}

func TestDecodeApplicationWithoutObject(t *testing.T) {
	for name, raw := range map[string]string{"nothing": "", "null": "null"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app, err := decodeApplication([]byte(raw))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(app).To(BeNil())
		})
	}
}
