// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/slots"
)

// theft is a write that somebody tries who has stolen the token of stepgate's account.
type theft struct {
	write func(stepgate client.Client) error
	// want is a part of the refusal; empty if it is allowed.
	want string
}

// trackingID is what Argo CD writes into what it has applied.
const trackingID = "argocd.argoproj.io/tracking-id"

func secretIn(name string, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "stolen", Name: name, Labels: labels},
		Type:       corev1.SecretTypeOpaque, StringData: map[string]string{"server": "https://evil.example.com"},
	}
}

// thefts are the ways to a cluster or a repository of Argo CD, and to the Secrets of a cluster.
func thefts(t *testing.T) map[string]theft {
	const onlyOwn, onlyBundle = "stepgate may write only the Secret stepgate-ca",
		"of a webhook, stepgate may change the caBundle, and not "
	ctx := t.Context()
	create := func(s *corev1.Secret) func(client.Client) error {
		return func(c client.Client) error { return c.Create(ctx, s, client.DryRunAll) }
	}
	patch := func(o client.Object, text string) func(client.Client) error {
		return func(c client.Client) error {
			return c.Patch(ctx, o, client.RawPatch(types.JSONPatchType, []byte(text)), client.DryRunAll)
		}
	}
	secret := func() client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "stolen", Name: "stepgate-ca"}}
	}
	meta := metav1.ObjectMeta{Name: "stepgate"}
	all := map[string]theft{
		"another Secret":        {create(secretIn("evil", nil)), onlyOwn},
		"a cluster of Argo CD":  {create(secretIn("evil", map[string]string{"argocd.argoproj.io/secret-type": "cluster"})), onlyOwn},
		"a generated name":      {create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "stolen", GenerateName: "stepgate-ca"}}), onlyOwn},
		"a token of an account": {create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "stolen", Name: "stepgate-ca", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}, Type: corev1.SecretTypeServiceAccountToken}), "stepgate-ca, of type Opaque"},
		"its Secret, as a cluster": {func(c client.Client) error {
			return c.Update(ctx, secretIn("stepgate-ca", map[string]string{
				"argocd.argoproj.io/secret-type": "cluster",
			}), client.DryRunAll)
		}, "stepgate may give a Secret none of Argo CD's labels"},
		"its Secret, with an annotation": {func(c client.Client) error {
			s := secretIn("stepgate-ca", nil)
			s.Annotations = map[string]string{"argocd.argoproj.io/sync-wave": "1"}
			return c.Update(ctx, s, client.DryRunAll)
		}, "stepgate may give a Secret none of Argo CD's annotations"},
		"its Secret, which Argo CD tracks": {func(c client.Client) error {
			tracked := secretIn("stepgate-ca", nil)
			tracked.Annotations = map[string]string{trackingID: "as it was"}
			return c.Update(ctx, tracked, client.DryRunAll)
		}, ""},
		"its Secret": {func(c client.Client) error { return c.Update(ctx, secretIn("stepgate-ca", nil), client.DryRunAll) }, ""},
		"a Secret elsewhere": {func(c client.Client) error {
			s := secretIn("stepgate-ca", nil)
			s.Namespace = "default"
			return c.Create(ctx, s, client.DryRunAll)
		}, "forbidden"},
		"no Secret": {func(c client.Client) error { return c.Delete(ctx, secret(), client.DryRunAll) }, "forbidden"},
	}
	for kind, configuration := range map[string]func() client.Object{
		"validating": func() client.Object { return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta} },
		"mutating":   func() client.Object { return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta} },
	} {
		for name, change := range map[string]struct{ patch, want string }{
			"the bundle":       {`[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":""}]`, ""},
			"Secrets":          {`[{"op":"add","path":"/webhooks/0/rules/-","value":{"apiGroups":[""],"apiVersions":["v1"],"resources":["secrets"],"operations":["*"]}}]`, onlyBundle + "rules"},
			"all resources":    {`[{"op":"replace","path":"/webhooks/0/rules/0/resources","value":["*"]}]`, onlyBundle + "rules"},
			"another server":   {`[{"op":"replace","path":"/webhooks/0/clientConfig","value":{"url":"https://evil.example.com/validate"}}]`, onlyBundle + "clientConfig."},
			"another Service":  {`[{"op":"replace","path":"/webhooks/0/clientConfig/service/name","value":"evil"}]`, onlyBundle + "clientConfig.service"},
			"no conditions":    {`[{"op":"remove","path":"/webhooks/0/matchConditions"}]`, onlyBundle + "matchConditions"},
			"all namespaces":   {`[{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{}}]`, onlyBundle + "namespaceSelector"},
			"all objects":      {`[{"op":"replace","path":"/webhooks/0/objectSelector","value":{"matchLabels":{"a":"b"}}}]`, onlyBundle + "objectSelector"},
			"a failure policy": {`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"` + map[string]string{"validating": "Ignore", "mutating": "Fail"}[kind] + `"}]`, onlyBundle + "failurePolicy"},
			"a timeout":        {`[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":30}]`, onlyBundle + "timeoutSeconds"},
			"side effects":     {`[{"op":"replace","path":"/webhooks/0/sideEffects","value":"None"}]`, onlyBundle + "sideEffects"},
			"a match policy":   {`[{"op":"replace","path":"/webhooks/0/matchPolicy","value":"Exact"}]`, onlyBundle + "matchPolicy"},
			"a name":           {`[{"op":"replace","path":"/webhooks/0/name","value":"evil.stepgate.io"}]`, "stepgate may neither add nor remove a webhook"},
			"no webhook":       {`[{"op":"remove","path":"/webhooks/0"}]`, "stepgate may neither add nor remove a webhook"},
			"a label":          {`[{"op":"add","path":"/metadata/labels/a","value":"b"}]`, "stepgate may not change .metadata.labels"},
			"an annotation":    {`[{"op":"add","path":"/metadata/annotations/a","value":"b"}]`, "stepgate may not change .metadata.annotations"},
			"a finalizer":      {`[{"op":"add","path":"/metadata/finalizers","value":["example.com/never"]}]`, "stepgate may not change .metadata.finalizers"},
		} {
			all[kind+": "+name] = theft{patch(configuration(), change.patch), change.want}
		}
		all[kind+": delete"] = theft{func(c client.Client) error {
			return c.Delete(ctx, configuration(), client.DryRunAll)
		}, "forbidden"}
	}
	all["mutating: called again"] = theft{
		patch(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta},
			`[{"op":"replace","path":"/webhooks/0/reinvocationPolicy","value":"Never"}]`), onlyBundle + "reinvocationPolicy",
	}
	return all
}

// A stolen token of stepgate's account opens nothing but what stepgate does itself.
func TestAStolenToken(t *testing.T) {
	g := NewWithT(t)
	install(t, "stepgate", "stolen")
	stepgate, err := client.New(account(t, "stolen", "stepgate"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ca := secretIn("stepgate-ca", nil)
	g.Expect(shared.Admin.Patch(t.Context(), ca,
		client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+trackingID+`":"as it was"}}}`)))).To(Succeed())
	all := thefts(t)
	// A policy takes effect a moment after it was stored.
	for _, name := range []string{"another Secret", "validating: a timeout", "mutating: a timeout"} {
		g.Eventually(func() error {
			return all[name].write(stepgate)
		}).Should(MatchError(ContainSubstring(all[name].want)), name)
	}
	for name, theft := range all {
		t.Run(name, func(t *testing.T) { theft.tried(t, stepgate) })
	}
}

// tried tries it.
func (theft theft) tried(t *testing.T, stepgate client.Client) {
	t.Helper()
	g := NewWithT(t)
	err := theft.write(stepgate)
	if theft.want == "" {
		g.Expect(err).NotTo(HaveOccurred())
		return
	}
	t.Log(fmt.Sprint(err))
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(ContainSubstring(theft.want)))
}

// TestAStolenTokenWithMore is what somebody may do with it where stepgate keeps maxUpdate, starts syncs, and creates
// AnalysisRuns: SECURITY.md says no less.
func TestAStolenTokenWithMore(t *testing.T) {
	installAnalysisRuns(t)
	for _, namespace := range []string{"team-a", "tests", "elsewhere"} {
		NewWithT(t).Expect(shared.CreateNamespace(t.Context(), namespace)).To(Succeed())
	}
	const onlySlots, rbac = "stepgate may only write those that keep the slots of steps", "forbidden: User "
	ctx := t.Context()
	for what, tc := range map[string]struct {
		values []string
		// first takes effect a moment after the installation.
		first string
		tries func(namespace string) map[string]theft
	}{
		"maxUpdate": {
			values: []string{"config.maxUpdate=true"}, first: "another ConfigMap",
			tries: func(namespace string) map[string]theft {
				kept := map[string]string{slots.Label: "true"}
				in := func(namespace, name string, labels map[string]string) *corev1.ConfigMap {
					return &corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
						Data:       map[string]string{"slots.json": `{"applicationSet":"argocd/guestbook","slots":[]}`},
					}
				}
				ours, other := in(namespace, slots.Prefix+"uid", kept), in(namespace, "other", nil)
				for _, object := range []client.Object{ours.DeepCopy(), other.DeepCopy()} {
					NewWithT(t).Expect(shared.Admin.Create(ctx, object)).To(Succeed())
				}
				return map[string]theft{
					"slots":                     {create(ctx, in(namespace, slots.Prefix+"another", kept)), ""},
					"other slots":               {update(ctx, ours), ""},
					"no slots":                  {remove(ctx, ours), ""},
					"read all of its namespace": {list(ctx, &corev1.ConfigMapList{}, namespace), ""},
					"the ledger": {
						create(ctx, in(namespace, ledger.Prefix+"uid-0", map[string]string{ledger.Label: "uid"})), "",
					},
					"the ledger without its label": {create(ctx, in(namespace, ledger.Prefix+"uid-1", nil)), onlySlots},
					"slots without the label":      {create(ctx, in(namespace, slots.Prefix+"another", nil)), onlySlots},
					"another ConfigMap":            {create(ctx, in(namespace, "another", kept)), onlySlots},
					"change another":               {update(ctx, other), onlySlots},
					"delete another":               {remove(ctx, other), onlySlots},
					"slots elsewhere":              {create(ctx, in("elsewhere", slots.Prefix+"another", kept)), rbac},
					"read ConfigMaps of Argo CD":   {list(ctx, &corev1.ConfigMapList{}, cluster.ArgoNamespace), rbac},
				}
			},
		},
		"evidence": {
			values: []string{
				"argocd.applicationNamespaces={argocd,team-a}", "config.verify.create=true", "config.verify.namespaces={tests}",
				"config.verify.kinds={analysisruns.v1alpha1.argoproj.io,jobs.v1.batch}",
			},
			first: "change an AnalysisRun",
			tries: func(string) map[string]theft {
				tests := metav1.ObjectMeta{Namespace: "tests", Name: "evil"}
				return map[string]theft{
					"an AnalysisRun in Argo CD's namespace":         {create(ctx, analysisRun(cluster.ArgoNamespace)), ""},
					"an AnalysisRun in a namespace of Applications": {create(ctx, analysisRun("team-a")), ""},

					"an AnalysisRun in one of the namespaces beside": {create(ctx, analysisRun("tests")), rbac},
					"read Jobs":                {list(ctx, &batchv1.JobList{}, "tests"), ""},
					"an AnalysisRun elsewhere": {create(ctx, analysisRun("elsewhere")), rbac},
					"change an AnalysisRun":    {update(ctx, analysisRun("tests")), rbac},
					"delete an AnalysisRun":    {remove(ctx, analysisRun("tests")), rbac},
					"a Job":                    {create(ctx, &batchv1.Job{ObjectMeta: tests}), rbac},
					"a Pod":                    {create(ctx, &corev1.Pod{ObjectMeta: tests}), rbac},
					"read Secrets":             {list(ctx, &corev1.SecretList{}, "tests"), rbac},
				}
			},
		},
		"start": {
			values: []string{"start.enabled=true"}, first: "another ConfigMap",
			tries: func(namespace string) map[string]theft {
				lease := func(namespace, name string) *coordinationv1.Lease {
					return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
				}
				NewWithT(t).Expect(shared.Admin.Create(ctx, lease(namespace, "other"))).To(Succeed())
				NewWithT(t).Expect(shared.Admin.Create(ctx, lease(namespace, "stepgate-start"))).To(Succeed())
				return map[string]theft{
					"hold the Lease":       {hold(ctx, lease(namespace, "stepgate-start")), ""},
					"a Lease of any name":  {create(ctx, lease(namespace, "another")), ""},
					"change another Lease": {update(ctx, lease(namespace, "other")), rbac},
					"a Lease elsewhere":    {create(ctx, lease("elsewhere", "stepgate-start")), rbac},
					"another ConfigMap":    {create(ctx, &corev1.ConfigMap{ObjectMeta: lease(namespace, "x").ObjectMeta}), onlySlots},
				}
			},
		},
		"everywhere": {
			values: []string{"config.verify.create=true", "config.verify.kinds={analysisruns.v1alpha1.argoproj.io}"},
			first:  "change an AnalysisRun",
			tries: func(string) map[string]theft {
				return map[string]theft{
					"an AnalysisRun anywhere": {create(ctx, analysisRun("kube-system")), ""},
					"change an AnalysisRun":   {update(ctx, analysisRun("kube-system")), rbac},
				}
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			namespace := "stolen-" + strings.ToLower(what)
			install(t, "stepgate", namespace, tc.values...)
			stepgate, err := client.New(account(t, namespace, "stepgate"), client.Options{
				Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
			})
			g.Expect(err).NotTo(HaveOccurred())
			all := tc.tries(namespace)
			g.Eventually(func() error {
				return all[tc.first].write(stepgate)
			}).Should(MatchError(ContainSubstring(all[tc.first].want)))
			for name, theft := range all {
				t.Run(name, func(t *testing.T) { theft.tried(t, stepgate) })
			}
		})
	}
}

// TestAStolenTokenOfTheReporter is what somebody may do with it where users of Argo CD act: docs/argocd-ui.md says no less.
func TestAStolenTokenOfTheReporter(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	install(t, "stepgate", "stolen-reporter", "ui.enabled=true", "ui.tokenSecret.name=ui", "ui.actions.enabled=true")
	reporter, err := client.New(account(t, "stolen-reporter", "stepgate-reporter"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	set := guestbook.Set(cluster.ArgoNamespace)
	set.Name = "stolen"
	set.Annotations = map[string]string{"stepgate.io/approve": "3", "stepgate.io/pause": "all"}
	g.Expect(shared.Admin.Create(ctx, set)).To(Succeed())
	t.Cleanup(func() { _ = shared.Admin.Delete(context.Background(), set) })
	patch := func(text string) func(client.Client) error {
		return func(c client.Client) error {
			o := guestbook.Set(cluster.ArgoNamespace)
			o.Name = set.Name
			return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
		}
	}
	const annotations, rbac = "stepgate's reporter may only write those that pause and approve", "forbidden: User "
	all := map[string]theft{
		"pause":                    {patch(`{"metadata":{"annotations":{"stepgate.io/pause":"3"}}}`), ""},
		"resume":                   {patch(`{"metadata":{"annotations":{"stepgate.io/pause":null}}}`), ""},
		"take the need away":       {patch(`{"metadata":{"annotations":{"stepgate.io/approve":null}}}`), annotations},
		"bypass":                   {patch(`{"metadata":{"annotations":{"stepgate.io/bypass":"true"}}}`), annotations},
		"another annotation":       {patch(`{"metadata":{"annotations":{"a":"b"}}}`), annotations},
		"another template":         {patch(`{"spec":{"template":{"spec":{"project":"admin"}}}}`), "may not change .spec of an ApplicationSet"},
		"a label":                  {patch(`{"metadata":{"labels":{"a":"b"}}}`), "may not change .metadata.labels of an ApplicationSet"},
		"a finalizer":              {patch(`{"metadata":{"finalizers":["a/b"]}}`), "may not change .metadata.finalizers of an ApplicationSet"},
		"an owner":                 {patch(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}}`), "may not change .metadata.ownerReferences"},
		"delete an ApplicationSet": {remove(ctx, set), rbac},
		"write its status": {func(c client.Client) error {
			return c.Status().Patch(ctx, set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{}}`)), client.DryRunAll)
		}, rbac},
		"sync": {func(c client.Client) error {
			app := guestbook.Application(set, "dev")
			return c.Patch(ctx, app, client.RawPatch(types.MergePatchType, []byte(`{"operation":{"sync":{}}}`)), client.DryRunAll)
		}, rbac},
	}
	// A policy takes effect a moment after it was stored.
	g.Eventually(func() error { return all["a label"].write(reporter) }).
		Should(MatchError(ContainSubstring(all["a label"].want)))
	for name, theft := range all {
		t.Run(name, func(t *testing.T) { theft.tried(t, reporter) })
	}
}

// TestOnlyStepgateSaysForWhomItCreates has others write the label of what stepgate has created.
func TestOnlyStepgateSaysForWhomItCreates(t *testing.T) {
	installAnalysisRuns(t)
	install(t, "stepgate", "forwhom", "config.verify.create=true",
		"config.verify.kinds={analysisruns.v1alpha1.argoproj.io}")
	g, ctx := NewWithT(t), t.Context()
	stepgate, err := client.New(account(t, "forwhom", "stepgate"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	labelled := func(name, label string) client.Object {
		run := analysisRun(cluster.ArgoNamespace)
		run.SetName(name)
		run.SetLabels(map[string]string{evidence.RevisionLabel: "abc", label: "uid"})
		return run
	}
	const denied = "only stepgate may write the label stepgate.io/for of an AnalysisRun"
	// A policy takes effect a moment after it was stored. Until then the API server may know the one of the test before,
	// which denies this account, too: only the new one denies others and admits this account.
	g.Eventually(func(g Gomega) {
		g.Expect(create(ctx, labelled("forged", evidence.ForLabel))(shared.Admin)).
			To(MatchError(ContainSubstring(denied)))
		g.Expect(create(ctx, labelled("created", evidence.ForLabel))(stepgate)).To(Succeed())
	}).Should(Succeed())
	g.Expect(shared.Admin.Create(ctx, labelled("others", "check"))).To(Succeed())
	g.Expect(stepgate.Create(ctx, labelled("created", evidence.ForLabel))).To(Succeed())
	relabel := func(name, labels string) error {
		run := analysisRun(cluster.ArgoNamespace)
		run.SetName(name)
		return shared.Admin.Patch(ctx, run, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":`+labels+`}}`)))
	}
	g.Expect(relabel("others", `{"`+evidence.ForLabel+`":"uid"}`)).To(MatchError(ContainSubstring(denied)))
	g.Expect(relabel("created", `{"`+evidence.ForLabel+`":null}`)).To(MatchError(ContainSubstring(denied)))
	g.Expect(relabel("created", `{"`+evidence.ForLabel+`":"another"}`)).To(MatchError(ContainSubstring(denied)))
	g.Expect(relabel("created", `{"check":"smoke"}`)).To(Succeed())
}

func create(ctx context.Context, o client.Object) func(client.Client) error {
	return func(c client.Client) error { return c.Create(ctx, fresh(o), client.DryRunAll) }
}

func update(ctx context.Context, o client.Object) func(client.Client) error {
	return func(c client.Client) error { return c.Update(ctx, fresh(o), client.DryRunAll) }
}

// hold takes a Lease from whoever has it.
func hold(ctx context.Context, lease *coordinationv1.Lease) func(client.Client) error {
	return func(c client.Client) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil {
			return err
		}
		lease.Spec.HolderIdentity = new("somebody else")
		return c.Update(ctx, lease, client.DryRunAll)
	}
}

func remove(ctx context.Context, o client.Object) func(client.Client) error {
	return func(c client.Client) error { return c.Delete(ctx, fresh(o), client.DryRunAll) }
}

func list(ctx context.Context, l client.ObjectList, namespace string) func(client.Client) error {
	return func(c client.Client) error { return c.List(ctx, l, client.InNamespace(namespace)) }
}

// fresh is an object as somebody writes it for the first time: a client changes what it writes.
func fresh(o client.Object) client.Object {
	other, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		panic("not an object")
	}
	return other
}

// analysisRun is one that no template has: Argo Rollouts would run its Job.
func analysisRun(namespace string) client.Object {
	run := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"metrics": []any{map[string]any{"name": "evil", "provider": map[string]any{
			"job": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"serviceAccountName": "argocd-application-controller",
			}}}},
		}}}},
	}}
	run.SetAPIVersion("argoproj.io/v1alpha1")
	run.SetKind("AnalysisRun")
	run.SetNamespace(namespace)
	run.SetName("evil")
	return run
}

// installAnalysisRuns installs the kind, as far as it matters.
func installAnalysisRuns(t *testing.T) {
	t.Helper()
	anything := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "analysisruns.argoproj.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "argoproj.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "analysisruns", Singular: "analysisrun", Kind: "AnalysisRun", ListKind: "AnalysisRunList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything},
				},
			}},
		},
	}
	_, err := envtest.InstallCRDs(shared.Config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}, MaxTime: 2 * time.Minute,
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}
