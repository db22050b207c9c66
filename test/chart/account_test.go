// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/test/guestbook"
)

// install installs a release in enforce mode until the test ends.
func install(t *testing.T, release, namespace string, values ...string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(shared.CreateNamespace(t.Context(), namespace)).To(Succeed())
	args := []string{"install", release, helm.Chart, "--namespace=" + namespace}
	for _, value := range append([]string{"config.mode=enforce"}, values...) {
		args = append(args, "--set="+value)
	}
	_, err := helm.Run(t.Context(), args...)
	g.Expect(err).NotTo(HaveOccurred())
	uninstallAtEnd(t, release, namespace)
}

func uninstallAtEnd(t *testing.T, release, namespace string) {
	t.Cleanup(func() {
		_, err := helm.Run(contextOfCleanup(), "uninstall", release, "--namespace="+namespace)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	})
}

// account is a client configuration with a token of a service account.
func account(t *testing.T, namespace, name string) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	kubeconfig, err := shared.Kubeconfig(t.Context(), namespace, name, "")
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	return config
}

// A golden file has all permissions of the account of the webhook, or of the reporter, as the API server lists them. One
// right more or less changes the file, and somebody reviews that.
func TestPermissions(t *testing.T) {
	ofReporter := []string{"reporter", "reporter-namespaces", "ui", "ui-actions"}
	for name, values := range map[string][]string{
		"all-namespaces": nil,
		"namespaces":     {"argocd.applicationNamespaces={team-a}"},
		"named-only":     {"argocd.applicationNamespaces={team-a}", "metrics.ungatedNamespaces=false"},
		"patterns":       {"argocd.applicationNamespaces={team-*}"},
		"no-windows":     {"syncWindows.enabled=false"},
		"start":          {"start.enabled=true"},
		"notifications":  {"notifications.enabled=true"},
		"reporter":       {"notifications.enabled=true"},
		"reporter-namespaces": {
			"notifications.enabled=true", "argocd.applicationNamespaces={argocd}", "config.verify.namespaces={team-a}",
			"config.verify.kinds={jobs.v1.batch}",
		},
		"ui":         {"ui.enabled=true", "ui.tokenSecret.name=stepgate-ui", "config.maxUpdate=true"},
		"ui-actions": {"ui.enabled=true", "ui.tokenSecret.name=stepgate-ui", "ui.actions.enabled=true"},
		"max-update": {"config.maxUpdate=true"},
		"evidence": {
			"argocd.applicationNamespaces={argocd}", "config.verify.create=true", "config.verify.namespaces={team-a}",
			"config.verify.kinds={analysisruns.v1alpha1.argoproj.io,jobs.v1.batch}",
		},
		"evidence-everywhere": {"config.verify.kinds={analysisruns.v1alpha1.argoproj.io}", "config.verify.create=true"},
		"no-refresh":          {"releaseWaiting.enabled=false", "certs.mode=external", "certs.external.secretName=tls"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, namespace := range []string{"team-a", "elsewhere"} {
				g.Expect(shared.CreateNamespace(t.Context(), namespace)).To(Succeed())
			}
			install(t, "stepgate", "permissions", values...)
			whose := "stepgate"
			if slices.Contains(ofReporter, name) {
				whose = "stepgate-reporter"
			}
			stepgate, nobody := account(t, "permissions", whose), rest.CopyConfig(shared.Config)
			nobody.Impersonate = rest.ImpersonationConfig{
				UserName: "system:serviceaccount:permissions:nobody", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:permissions", "system:authenticated"},
			}
			var text strings.Builder
			for _, namespace := range []string{"permissions", "argocd", "team-a", "elsewhere"} {
				everybody := rules(t, nobody, namespace) // Kubernetes 1.37 gives everybody more rights than 1.36
				own := slices.DeleteFunc(rules(t, stepgate, namespace), func(line string) bool {
					return slices.Contains(everybody, line)
				})
				fmt.Fprintf(&text, "in namespace %s\n%s", namespace, strings.Join(own, ""))
			}
			golden.Expect(t, "permissions-"+name+".golden", text.String())
		})
	}
}

// rules are the rights of a client in a namespace as the API server lists them, as sorted lines.
func rules(t *testing.T, config *rest.Config, namespace string) []string {
	t.Helper()
	g := NewWithT(t)
	clients, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	review, err := clients.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
		&authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
		}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(review.Status.Incomplete).To(BeFalse())
	var lines []string
	for _, r := range review.Status.ResourceRules {
		line := "  " + strings.Join(r.Resources, ",") + " of " + strings.Join(r.APIGroups, ",") + ": " +
			strings.Join(r.Verbs, ",")
		if len(r.ResourceNames) > 0 {
			line += " (only " + strings.Join(r.ResourceNames, ",") + ")"
		}
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	return lines
}

// attempt is a write that stepgate's account tries.
type attempt struct {
	change func(*argo.Application)
	// want is a part of the refusal; empty if it is allowed.
	want string
}

// attempts are the ways to change an Application, each with the expected answer.
func attempts() map[string]attempt {
	annotate := func(key, value string) func(*argo.Application) {
		return func(a *argo.Application) { a.Annotations[key] = value }
	}
	onlyRefresh := "of an Application's annotations, stepgate may only set argocd.argoproj.io/refresh to normal or " +
		"normal-again"
	return map[string]attempt{
		"a refresh":                    {annotate(argo.AnnotationKeyRefresh, "normal"), ""},
		"nothing":                      {func(*argo.Application) {}, ""},
		"a refresh, again":             {annotate(argo.AnnotationKeyRefresh, "normal-again"), ""},
		"a hard refresh":               {annotate(argo.AnnotationKeyRefresh, "hard"), onlyRefresh},
		"another annotation":           {annotate("note", "x"), onlyRefresh},
		"an annotation that was there": {annotate("kept", "not"), onlyRefresh},
		"an annotation less":           {func(a *argo.Application) { delete(a.Annotations, "kept") }, onlyRefresh},
		"no annotations":               {func(a *argo.Application) { a.Annotations = nil }, onlyRefresh},
		"a sync":                       {func(a *argo.Application) { a.Operation = guestbook.RollingSync() }, "stepgate may not change .operation of an Application"},
		"a refresh and a sync": {func(a *argo.Application) {
			a.Annotations[argo.AnnotationKeyRefresh] = "normal"
			a.Operation = guestbook.RollingSync()
		}, ".operation"},
		"its spec": {func(a *argo.Application) { a.Spec.Project = "other" }, ".spec"},
		"free-form values in its spec": {func(a *argo.Application) {
			a.Spec.Source.Helm = &argo.ApplicationSourceHelm{ValuesObject: &runtime.RawExtension{Raw: []byte(`{"a":1}`)}}
		}, ".spec"},
		"its status":                     {func(a *argo.Application) { a.Status.Health.Status = "Degraded" }, ".status"},
		"a label":                        {func(a *argo.Application) { a.Labels["x"] = "y" }, ".metadata.labels"},
		"its step":                       {func(a *argo.Application) { a.Labels[guestbook.StepLabel] = "env-dev" }, ".metadata.labels"},
		"a finalizer":                    {func(a *argo.Application) { a.Finalizers = []string{"resources-finalizer.argocd.argoproj.io"} }, ".metadata.finalizers"},
		"its owner":                      {func(a *argo.Application) { a.OwnerReferences = nil }, ".metadata.ownerReferences"},
		"the prefix of a generated name": {func(a *argo.Application) { a.GenerateName = "x-" }, ".metadata.generateName"},
	}
}

// Of an Application, stepgate's account may write one annotation, whatever kind of patch it sends, and nothing else.
func TestTheAccountWritesNothingButTheRefreshAnnotation(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.CreateNamespace(ctx, "confined")).To(Succeed())
	set := guestbook.Set("confined")
	g.Expect(shared.Admin.Create(ctx, set)).To(Succeed())
	app := guestbook.Application(set, "prod")
	app.Annotations = map[string]string{"kept": "yes"}
	g.Expect(shared.Admin.Create(ctx, app)).To(Succeed())
	// Nobody serves the webhook here; only the refusals before it count.
	install(t, "stepgate", "confined", "webhook.failurePolicy=Ignore")
	stepgate, err := client.New(account(t, "confined", "stepgate"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	try := func(change func(*argo.Application), patch func(before *argo.Application) client.Patch) error {
		changed := app.DeepCopy()
		change(changed)
		return stepgate.Patch(ctx, changed, patch(app.DeepCopy()), client.DryRunAll)
	}
	merge := func(before *argo.Application) client.Patch { return client.MergeFrom(before) }
	// A policy takes effect a moment after it was stored.
	label := attempts()["a label"]
	g.Eventually(func() error { return try(label.change, merge) }).Should(MatchError(ContainSubstring(label.want)))
	for name, a := range attempts() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := try(a.change, merge)
			if a.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(And(ContainSubstring("ValidatingAdmissionPolicy 'stepgate'"), ContainSubstring(a.want))))
		})
	}
	for name, patch := range map[string]client.Patch{
		"JSON patch":        client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/operation","value":{"sync":{}}}]`)),
		"server-side apply": client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"`+app.Name+`","namespace":"confined"},"operation":{"sync":{}}}`)),
	} {
		options := []client.PatchOption{client.DryRunAll, client.FieldOwner("stepgate")}
		g.Expect(stepgate.Patch(ctx, app.DeepCopy(), patch, options...)).To(MatchError(ContainSubstring(".operation")), name)
	}
	// Writes that RBAC alone refuses.
	for name, err := range map[string]error{
		"update":     stepgate.Update(ctx, app.DeepCopy()),
		"create":     stepgate.Create(ctx, guestbook.Application(set, "dev")),
		"delete":     stepgate.Delete(ctx, app.DeepCopy()),
		"delete all": stepgate.DeleteAllOf(ctx, &argo.Application{}, client.InNamespace("confined")),
		"the set":    stepgate.Patch(ctx, set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))),
	} {
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", name, err)
	}
	// An allowed write is stored.
	refreshed := app.DeepCopy()
	refreshed.Annotations[argo.AnnotationKeyRefresh] = "normal"
	g.Expect(stepgate.Patch(ctx, refreshed, client.MergeFrom(app.DeepCopy()))).To(Succeed())
	g.Expect(shared.Admin.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
	g.Expect(app.Annotations).To(HaveKeyWithValue(argo.AnnotationKeyRefresh, "normal"))
	// Nobody else is confined.
	app.Labels["x"] = "y"
	g.Expect(shared.Admin.Update(ctx, app)).To(Succeed())
}
