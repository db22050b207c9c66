// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path/filepath"
	"slices"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/stepgate/stepgate/cmd/doctor"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/settings"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// world is a cluster with everything in order. A test breaks one thing.
type world struct {
	validating  *admissionv1.ValidatingWebhookConfiguration
	mutating    *admissionv1.MutatingWebhookConfiguration
	deployment  *appsv1.Deployment
	budget      *policyv1.PodDisruptionBudget
	policies    []*networkingv1.NetworkPolicy
	pods        []*corev1.Pod
	slice       *discoveryv1.EndpointSlice
	namespaces  map[string]*corev1.Namespace
	server      *appsv1.Deployment
	sets        *appsv1.Deployment
	controller  *appsv1.StatefulSet
	cm, params  *corev1.ConfigMap
	ledger      []*corev1.ConfigMap
	guestbook   *argo.ApplicationSet
	apps        []*argo.Application
	settings    *doctor.Flags
	kubernetes  string
	resources   []*metav1.APIResourceList
	version     string
	mayNot      func(verb, resource, user string) bool
	refuse, pin answer
	// created is what the doctor has tried to create.
	created  *argo.Application
	chain    []*x509.Certificate
	chainErr error
}

// answer is what the API server says to a dry-run.
type answer struct {
	err      error
	warnings []string
	revision string
}

// authority is a CA that issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(g Gomega, from, to time.Time) authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stepgate-ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageCertSign,
	}
	return authority{sign(g, template, template, key, key), key}
}

func sign(g Gomega, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return certificate
}

func (a authority) leaf(g Gomega, host string, from, to time.Time) *x509.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	return sign(g, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, key, a.key)
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

const day = 24 * time.Hour

// healthy is what the chart installs in enforce mode, from config/enforce, and an Argo CD from its manifests.
func healthy(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	ca := newAuthority(g, now.Add(-100*day), now.Add(265*day))
	w := &world{
		kubernetes: "v1.36.3", version: "v0.1.0", mayNot: func(string, string, string) bool { return false },
		chain:  []*x509.Certificate{ca.leaf(g, "stepgate.stepgate.svc", now.Add(-2*day), now.Add(5*day)), ca.certificate},
		refuse: answer{err: denial("step 3 of ApplicationSet argocd/guestbook may not sync yet: guestbook-prod-eu-stepgate-doctor (ContentUnknown)")},
		pin:    answer{warnings: []string{webhook.SelfTestWarning}, revision: "78de5d3c1b0a9f8e7d6c5b4a39281706f5e4d3c2"},
	}
	for _, object := range configurations(g) {
		switch o := object.(type) {
		case *admissionv1.ValidatingWebhookConfiguration:
			w.validating = o
		case *admissionv1.MutatingWebhookConfiguration:
			w.mutating = o
		case *appsv1.Deployment:
			w.deployment = o
		case *policyv1.PodDisruptionBudget:
			w.budget = o
		}
	}
	w.validating.Labels["app.kubernetes.io/managed-by"], w.mutating.Labels["app.kubernetes.io/managed-by"] = "Helm", "Helm"
	w.validating.Annotations = map[string]string{"meta.helm.sh/release-name": "stepgate"}
	w.validating.Webhooks[0].ClientConfig.CABundle = ca.pem()
	w.mutating.Webhooks[0].ClientConfig.CABundle = ca.pem()
	w.deployment.Status.ReadyReplicas = 2
	w.run()
	w.argoCD()
	w.rollout()
	return w
}

// configurations reads config/enforce, which is rendered from the chart.
func configurations(g Gomega) []runtime.Object {
	text, err := installed.Kustomize(filepath.Join("..", "..", "config", "enforce"))
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(argo.AddToScheme(scheme)).To(Succeed())
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	var all []runtime.Object
	documents := yaml.NewYAMLReader(newReader(text))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		g.Expect(err).NotTo(HaveOccurred())
		object, _, err := decoder.Decode(document, nil, nil)
		g.Expect(err).NotTo(HaveOccurred(), string(document))
		all = append(all, object)
	}
}

// run adds what controllers make of the Deployment.
func (w *world) run() {
	yes := true
	for _, suffix := range []string{"5nq7c", "x2lwt"} {
		w.pods = append(w.pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "stepgate", Name: "stepgate-6d5f9c7b8-" + suffix, Labels: w.deployment.Spec.Template.Labels},
			Spec:       w.deployment.Spec.Template.Spec, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
	}
	w.slice = &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "stepgate", Name: "stepgate-k7xkq", Labels: map[string]string{discoveryv1.LabelServiceName: "stepgate"}},
		Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &yes}}, {Conditions: discoveryv1.EndpointConditions{Ready: &yes}}},
	}
	w.settings = &doctor.Flags{
		Gate: settings.Config{
			Mode: settings.Enforce, Pin: settings.PinCompared, Hold: true, Release: true, BypassUsers: []string{"alice"},
			ServerAccounts:         []string{"system:serviceaccount:argocd:argocd-server"},
			ApplicationSetAccounts: []string{"system:serviceaccount:argocd:argocd-applicationset-controller"},
		},
		Gated: func(string) bool { return true }, Projects: "argocd", OwnCA: true, CASecret: types.NamespacedName{Namespace: "stepgate", Name: "stepgate-ca"},
		Installation: "stepgate",
		Barrier:      types.NamespacedName{Namespace: "stepgate", Name: "stepgate-barrier"},
		Ledger:       true, LedgerLease: types.NamespacedName{Namespace: "stepgate", Name: "stepgate-ledger"},
	}
	w.ledger = []*corev1.ConfigMap{part("7d2c5a1e", "7d2c5a1e")}
}

// part is a ConfigMap of the ledger, and what an ApplicationSet with this UID has written.
func part(set, by string) *corev1.ConfigMap {
	written, err := ledger.Encode(ledger.Set{UID: types.UID(by), Namespace: "argocd", Name: "guestbook"}, 0, nil)
	if err != nil {
		panic(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "stepgate", Name: "stepgate-ledger-" + set + "-0", Labels: map[string]string{ledger.Label: set},
			Annotations: map[string]string{ledger.SetAnnotation: "argocd/guestbook"},
		},
		BinaryData: map[string][]byte{ledger.CompletionsKey: written},
	}
}

func (w *world) argoCD() {
	part := func(component string) (metav1.ObjectMeta, corev1.PodTemplateSpec) {
		name := "argocd-" + component
		return metav1.ObjectMeta{
				Namespace: "argocd", Name: name, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/component": component},
			},
			corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{ServiceAccountName: name, Containers: []corev1.Container{{Name: name, Image: "quay.io/argoproj/argocd:v3.5.7"}}},
			}
	}
	w.server, w.sets, w.controller = &appsv1.Deployment{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}
	w.server.ObjectMeta, w.server.Spec.Template = part("server")
	w.sets.ObjectMeta, w.sets.Spec.Template = part("applicationset-controller")
	w.controller.ObjectMeta, w.controller.Spec.Template = part("application-controller")
	from := func(name, configMap, key string) corev1.EnvVar {
		return corev1.EnvVar{
			Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key}},
		}
	}
	w.sets.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{
		from("ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS", "argocd-cmd-params-cm",
			"applicationsetcontroller.enable.progressive.syncs"),
		from("ARGOCD_APPLICATIONSET_CONTROLLER_NAMESPACES", "argocd-cmd-params-cm", "applicationsetcontroller.namespaces"),
	}
	w.controller.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{
		from("ARGOCD_RECONCILIATION_TIMEOUT", "argocd-cm", "timeout.reconciliation"),
	}
	w.cm = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-cm"}, Data: map[string]string{},
	}
	w.params = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-cmd-params-cm"},
		Data:       map[string]string{"applicationsetcontroller.enable.progressive.syncs": "true"},
	}
	w.namespaces = map[string]*corev1.Namespace{}
	for _, name := range []string{"argocd", "default", "stepgate"} {
		w.namespaces[name] = &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
		}
	}
}

// rollout adds the ApplicationSet guestbook with three steps, and an Application in each.
func (w *world) rollout() {
	yes := true
	w.guestbook = &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "guestbook", UID: "7d2c5a1e", Annotations: map[string]string{}},
	}
	w.guestbook.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
	}
	for i, env := range []string{"dev", "qa", "prod-eu"} {
		w.guestbook.Spec.Strategy.RollingSync.Steps = append(w.guestbook.Spec.Strategy.RollingSync.Steps,
			argo.ApplicationSetRolloutStep{
				MatchExpressions: []argo.ApplicationMatchExpression{{Key: "env", Operator: "In", Values: []string{env}}},
			})
		name := "guestbook-" + env
		w.apps = append(w.apps, &argo.Application{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "argocd", Name: name, Labels: map[string]string{"env": env},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook", UID: w.guestbook.UID, Controller: &yes, BlockOwnerDeletion: &yes}},
			},
			Spec: argo.ApplicationSpec{Project: "default"},
		})
		w.guestbook.Status.Resources = append(w.guestbook.Status.Resources, argo.ResourceStatus{Name: name})
		w.guestbook.Status.ApplicationStatus = append(w.guestbook.Status.ApplicationStatus,
			argo.ApplicationSetApplicationStatus{
				Application: name, Step: fmt.Sprint(i + 1),
			})
	}
}

// sources are fakes of the world.
func (w *world) sources(t *testing.T) *doctor.Sources {
	t.Helper()
	var objects []runtime.Object
	add := func(o runtime.Object, is bool) {
		if is {
			objects = append(objects, o)
		}
	}
	add(w.validating, w.validating != nil)
	add(w.mutating, w.mutating != nil)
	add(w.deployment, w.deployment != nil)
	add(w.budget, w.budget != nil)
	add(w.slice, w.slice != nil)
	add(w.server, w.server != nil)
	add(w.sets, w.sets != nil)
	add(w.controller, w.controller != nil)
	add(w.cm, w.cm != nil)
	add(w.params, w.params != nil)
	for _, p := range w.pods {
		objects = append(objects, p)
	}
	for _, m := range w.ledger {
		objects = append(objects, m)
	}
	for _, p := range w.policies {
		objects = append(objects, p)
	}
	for _, n := range w.namespaces {
		objects = append(objects, n)
	}
	kube := fake.NewClientset(objects...)
	kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: w.kubernetes}
	kube.Resources = w.resources
	kube.PrependReactor("*", "*", w.authorize)
	return &doctor.Sources{
		Kube: kube, Objects: w.objects(t, nil), Version: w.version, Now: func() time.Time { return now },
		Warned: func(handler rest.WarningHandler) (client.Client, error) { return w.objects(t, handler), nil },
		Parse: func(*appsv1.Deployment) (*doctor.Flags, error) {
			if w.settings == nil {
				return nil, fmt.Errorf("unknown arguments")
			}
			return w.settings, nil
		},
		OfURL: func(context.Context, string) ([]*x509.Certificate, error) { return w.chain, w.chainErr },
		OfPod: func(_ context.Context, namespace, _ string, _ int32, _ string) ([]*x509.Certificate, error) {
			if w.mayNot("create", "pods/portforward", "") {
				return nil, forbidden("create", "pods/portforward", "", namespace)
			}
			return w.chain, w.chainErr
		},
	}
}

// authorize answers access reviews, and refuses what somebody may not do.
func (w *world) authorize(action k8stesting.Action) (bool, runtime.Object, error) {
	allowed := func(a *authorizationv1.ResourceAttributes, user string) bool {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		return !w.mayNot(a.Verb, resource, user)
	}
	create, isCreate := action.(k8stesting.CreateAction)
	switch {
	case isCreate && action.GetResource().Resource == "selfsubjectaccessreviews":
		review := create.GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = allowed(review.Spec.ResourceAttributes, "")
		return true, review, nil
	case isCreate && action.GetResource().Resource == "selfsubjectreviews":
		return true, &authenticationv1.SelfSubjectReview{
			Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "jane"}},
		}, nil
	}
	if action.GetResource().Resource != "version" && w.mayNot(action.GetVerb(), action.GetResource().Resource, "") {
		return true, nil, forbidden(action.GetVerb(), action.GetResource().Resource, action.GetResource().Group,
			action.GetNamespace())
	}
	if isCreate && action.GetResource().Resource == "subjectaccessreviews" {
		review := create.GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		review.Status.Allowed = allowed(review.Spec.ResourceAttributes, review.Spec.User)
		return true, review, nil
	}
	return false, nil, nil
}

// forbidden is worded as by a real API server.
func forbidden(verb, resource, group, namespace string) error {
	where := "at the cluster scope"
	if namespace != "" {
		where = fmt.Sprintf("in the namespace %q", namespace)
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "",
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", "jane", verb, resource, group, where))
}

func denial(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden,
		Message: `admission webhook "operation.stepgate.io" denied the request: ` + text,
	}}
}

// objects is a client of Argo CD's objects that answers dry-runs, and stores none.
func (w *world) objects(t *testing.T, handler rest.WarningHandler) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(argo.AddToScheme(scheme)).To(Succeed())
	reply := func(a answer, operation **argo.Operation) error {
		for _, text := range a.warnings {
			handler.HandleWarningHeader(299, "-", text)
		}
		if a.err == nil && a.revision != "" {
			*operation = &argo.Operation{Sync: &argo.SyncOperation{Revision: a.revision}}
		}
		return a.err
	}
	builder := fakeclient.NewClientBuilder().WithScheme(scheme)
	if w.guestbook != nil {
		builder.WithObjects(w.guestbook)
	}
	for _, app := range w.apps {
		builder.WithObjects(app)
	}
	builder.WithObjects(&argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "stepgate", Name: "stepgate-barrier"}})
	return builder.WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if w.mayNot("create", "applications", "") {
				return forbidden("create", "applications", "argoproj.io", o.GetNamespace())
			}
			NewWithT(t).Expect(slices.Contains(options, client.CreateOption(client.DryRunAll))).To(BeTrue(),
				"the doctor stores nothing")
			w.created = o.(*argo.Application)
			return reply(w.refuse, &o.(*argo.Application).Operation)
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, options ...client.PatchOption) error {
			if w.mayNot("patch", "applications", "") {
				return forbidden("patch", "applications", "argoproj.io", o.GetNamespace())
			}
			NewWithT(t).Expect(slices.Contains(options, client.PatchOption(client.DryRunAll))).To(BeTrue(),
				"the doctor stores nothing")
			return reply(w.pin, &o.(*argo.Application).Operation)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			resource := "applications"
			if _, isSets := list.(*argo.ApplicationSetList); isSets {
				resource = "applicationsets"
			}
			if w.mayNot("list", resource, "") {
				return forbidden("list", resource, "argoproj.io", "")
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
}

func newReader(text []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(text)) }
