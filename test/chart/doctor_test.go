// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/doctor"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook/record"
)

// doctored is a release, and the doctor of it.
type doctored struct {
	*testing.T
	Gomega
	kubeconfig string
	replica    *installed.Replica
}

// asks runs the doctor.
func (d *doctored) asks(args ...string) (text string, code int) {
	d.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(d.Context(), shared.Binary,
		append([]string{"doctor", "--kubeconfig=" + d.kubeconfig}, args...)...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); command.ProcessState == nil {
		d.Expect(err).NotTo(HaveOccurred())
	}
	return stdout.String() + stderr.String(), command.ProcessState.ExitCode()
}

// checks are all checks of the doctor, with the exit code.
func (d *doctored) checks(args ...string) ([]doctor.Check, int) {
	d.Helper()
	text, code := d.asks(append(args, "-o", "json")...)
	var report doctor.Report
	d.Expect(json.Unmarshal([]byte(text[:strings.LastIndex(text, "}")+1]), &report)).To(Succeed(), text)
	return report.Checks, code
}

// bad are the checks that found something, or that could not be made, each once.
func (d *doctored) bad(args ...string) (names []string) {
	d.Helper()
	checks, _ := d.checks(args...)
	for _, c := range checks {
		if c.Result != doctor.OK && c.Result != doctor.Skipped {
			names = append(names, strings.TrimPrefix(c.Group+": ", ": ")+c.Name+" "+string(c.Result))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// argoCD creates the workloads of Argo CD's manifests, as far as the doctor looks at them; nobody runs them.
func argoCD(t *testing.T) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.CreateNamespace(ctx, cluster.ArgoNamespace)).To(Succeed())
	template := func(name string) (metav1.ObjectMeta, *metav1.LabelSelector, corev1.PodTemplateSpec) {
		labels := map[string]string{
			"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/component": strings.TrimPrefix(name, "argocd-"),
		}
		return metav1.ObjectMeta{
				Namespace: cluster.ArgoNamespace, Name: name, Labels: labels,
			}, &metav1.LabelSelector{MatchLabels: labels},
			corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{ServiceAccountName: name, Containers: []corev1.Container{{
					Name: name, Image: "quay.io/argoproj/argocd:v3.5.7", Args: []string{"--enable-progressive-syncs"},
				}}}}
	}
	server, sets, controller := &appsv1.Deployment{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}
	server.ObjectMeta, server.Spec.Selector, server.Spec.Template = template("argocd-server")
	sets.ObjectMeta, sets.Spec.Selector, sets.Spec.Template = template("argocd-applicationset-controller")
	controller.ObjectMeta, controller.Spec.Selector, controller.Spec.Template = template("argocd-application-controller")
	controller.Spec.Template.Spec.Containers[0].Args = nil
	for _, o := range []client.Object{server, sets, controller} {
		g.Expect(shared.Admin.Create(ctx, o)).To(Succeed())
		t.Cleanup(func() { g.Expect(shared.Admin.Delete(contextOfCleanup(), o)).To(Succeed()) })
	}
}

// tidy removes what other tests have left, which the doctor would find: ApplicationSets that nobody gates, and
// namespaces that are switched off.
func tidy(t *testing.T) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	var namespaces corev1.NamespaceList
	g.Expect(shared.Admin.List(ctx, &namespaces)).To(Succeed())
	for i := range namespaces.Items {
		n := &namespaces.Items[i]
		g.Expect(shared.Admin.DeleteAllOf(ctx, &argo.ApplicationSet{}, client.InNamespace(n.Name))).To(Succeed())
		g.Expect(shared.Admin.DeleteAllOf(ctx, &argo.Application{}, client.InNamespace(n.Name))).To(Succeed())
		if _, ignored := n.Labels[record.IgnoreLabel]; ignored {
			before := n.DeepCopy()
			delete(n.Labels, record.IgnoreLabel)
			g.Expect(shared.Admin.Patch(ctx, n, client.MergeFrom(before))).To(Succeed())
		}
	}
}

// newDoctored installs the chart in a namespace, with a rollout in another one. It does the work of controllers that do
// not run here: it writes the status of the Deployment.
func newDoctored(t *testing.T, namespace string, values ...string) *doctored {
	t.Helper()
	g := NewWithT(t)
	tidy(t)
	argoCD(t)
	g.Expect(shared.CreateNamespace(t.Context(), namespace+"-apps")).To(Succeed())
	kubeconfig, err := shared.AdminKubeconfig()
	g.Expect(err).NotTo(HaveOccurred())
	d := &doctored{T: t, Gomega: g, kubeconfig: kubeconfig}
	d.replica = serve(t, installed.Chart{
		Name: "stepgate", Namespace: namespace, Values: append(values, "argocd.applicationNamespaces={argocd,"+namespace+"-apps}"),
	})
	deployment := &appsv1.Deployment{}
	g.Expect(shared.Admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "stepgate"},
		deployment)).To(Succeed())
	deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = 2, 2, 2
	g.Expect(shared.Admin.Status().Update(t.Context(), deployment)).To(Succeed())
	return d
}

// change patches an object, and puts it back when the subtest ends.
func change[T client.Object](d *doctored, o T, name string, how func(T)) {
	d.Helper()
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: name}
	d.Expect(shared.Admin.Get(d.Context(), key, o)).To(Succeed())
	before := o.DeepCopyObject().(T)
	how(o)
	d.Expect(shared.Admin.Patch(d.Context(), o, client.MergeFrom(before))).To(Succeed())
	d.Cleanup(func() {
		now := before.DeepCopyObject().(T)
		d.Expect(shared.Admin.Get(contextOfCleanup(), key, now)).To(Succeed())
		back := before.DeepCopyObject().(T)
		back.SetResourceVersion(now.GetResourceVersion())
		d.Expect(shared.Admin.Update(contextOfCleanup(), back)).To(Succeed())
	})
}

func (d *doctored) in(t *testing.T) *doctored {
	return &doctored{T: t, Gomega: NewWithT(t), kubeconfig: d.kubeconfig, replica: d.replica}
}

// A healthy installation is fine; one thing at a time is broken, and the doctor names exactly that.
func TestDoctor(t *testing.T) {
	d := newDoctored(t, "doctored")
	set := rollout(t, "doctored-apps")
	denied(t, set)
	before := stored(d.Context(), d)

	d.Run("a healthy installation is fine", func(t *testing.T) {
		d := d.in(t)
		d.Eventually(func() []string { return d.bad() }).Should(BeEmpty())
		checks, code := d.checks("--selftest=doctored-apps", "--yes")
		d.Expect(code).To(Equal(0), "%+v", checks)
		text, code := d.asks()
		d.Expect(code).To(Equal(0), text)
		d.Expect(text).To(ContainSubstring("✔ All is well."))
		d.Expect(text).To(ContainSubstring("stepgate refuses one of a copy of doctored-apps/engineering-prod-guestbook"))
		d.Log(text)
	})
	d.Run("once the earlier steps are done, a sync is pinned", func(t *testing.T) {
		d := d.in(t)
		for _, env := range []string{"dev", "qa"} {
			change(d, guestbook.Application(set, env), "engineering-"+env+"-guestbook", func(app *argo.Application) {
				guestbook.Compare(app, time.Now(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
			})
		}
		d.Eventually(func() string {
			checks, _ := d.checks()
			return checks[slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "pin" })].Found
		}).Should(Equal("A sync of doctored-apps/engineering-prod-guestbook gets its revision."))
	})
	d.Run("it writes nothing", func(t *testing.T) {
		d := d.in(t)
		decisions, err := d.replica.Metric(d.Context(), "stepgate_decisions_total")
		d.Expect(err).NotTo(HaveOccurred())
		d.asks()
		after, err := d.replica.Metric(d.Context(), "stepgate_decisions_total")
		d.Expect(err).NotTo(HaveOccurred())
		d.Expect(after).To(Equal(decisions))
		d.Expect(stored(d.Context(), d)).To(Equal(before))
	})
	for name, tc := range breaks() {
		d.Run(name, func(t *testing.T) {
			d := d.in(t)
			tc.change(d)
			d.Eventually(func() []string { return d.bad() }).Should(ConsistOf(tc.bad))
			checks, code := d.checks()
			d.Expect(code).To(Equal(1))
			i := slices.IndexFunc(checks, func(c doctor.Check) bool {
				return strings.HasPrefix(tc.bad[0], strings.TrimPrefix(c.Group+": ", ": ")+c.Name+" ") && c.Result != doctor.OK
			})
			d.Expect(checks[i].Remedy + strings.Join(checks[i].Commands, "\n")).To(ContainSubstring(tc.remedy))
			d.Logf("%s\n%s\n%s", checks[i].Found, checks[i].Remedy, strings.Join(checks[i].Commands, "\n"))
		})
	}
}

// broken is one change, the checks that name it, and the remedy of the first of them.
type broken struct {
	change func(*doctored)
	bad    []string
	remedy string
}

func breaks() map[string]broken {
	validating := func(how func(*admissionregistrationv1.ValidatingWebhook)) func(*doctored) {
		return func(d *doctored) {
			change(d, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "stepgate",
				func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
					how(&c.Webhooks[0])
				})
		}
	}
	ignore := admissionregistrationv1.Ignore
	return map[string]broken{
		"the mutating configuration is deleted": {func(d *doctored) {
			mutating, err := installed.Mutating(d.Context(), shared, "stepgate")
			d.Expect(err).NotTo(HaveOccurred())
			d.Expect(mutating.Delete(d.Context(), shared)).To(Succeed())
			d.Cleanup(func() { d.Expect(mutating.Create(contextOfCleanup(), shared)).To(Succeed()) })
		}, []string{
			"Mutating webhook: registered problem", "Calls of the API server (dry-runs): pin problem",
		}, "helm upgrade stepgate CHART --namespace doctored"},
		"failurePolicy Ignore": {
			validating(func(w *admissionregistrationv1.ValidatingWebhook) { w.FailurePolicy = &ignore }),
			[]string{"Validating webhook: failure policy warning"}, "--set webhook.failurePolicy=Fail",
		},
		"a narrower selector": {
			validating(func(w *admissionregistrationv1.ValidatingWebhook) {
				for i := range w.NamespaceSelector.MatchExpressions {
					if e := &w.NamespaceSelector.MatchExpressions[i]; e.Key == corev1.LabelMetadataName {
						e.Values = []string{"argocd"}
					}
				}
			}),
			[]string{
				"Validating webhook: selectors problem", "Calls of the API server (dry-runs): early sync problem",
			}, "kubectl get validatingwebhookconfiguration stepgate -o yaml",
		},
		"a condition less": {
			validating(func(w *admissionregistrationv1.ValidatingWebhook) { w.MatchConditions = w.MatchConditions[1:] }),
			[]string{"Validating webhook: match conditions problem"}, "helm upgrade",
		},
		"a condition that fails": {
			validating(func(w *admissionregistrationv1.ValidatingWebhook) {
				w.MatchConditions = append(w.MatchConditions, admissionregistrationv1.MatchCondition{
					Name: "of-mine", Expression: "object.spec.owner == 'me'",
				})
			}),
			[]string{
				"Calls of the API server (dry-runs): early sync problem", "Calls of the API server (dry-runs): pin problem", "Validating webhook: match conditions warning",
			}, "--set webhook.matchConditions=null",
		},
		"a wrong account flag": {func(d *doctored) {
			change(d, &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "doctored"},
			}, "stepgate", func(o *appsv1.Deployment) {
				args := o.Spec.Template.Spec.Containers[0].Args
				i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--argocd-server-account=") })
				args[i] = "--argocd-server-account=system:serviceaccount:openshift-gitops:openshift-gitops-argocd-server"
			})
		}, []string{"server account warning"}, "'argocd.serverAccounts={system:serviceaccount:argocd:argocd-server}'"},
		"the emergency switch": {func(d *doctored) {
			change(d, &corev1.Namespace{}, "doctored-apps", func(n *corev1.Namespace) {
				n.Labels["stepgate.io/ignore"] = "true"
			})
		}, []string{
			"Off or exempt: switched off warning", "Calls of the API server (dry-runs): early sync unknown",
		}, "kubectl label namespace doctored-apps stepgate.io/ignore-"},
		"an ApplicationSet is off": {func(d *doctored) {
			change(d, guestbook.Set("doctored-apps"), "guestbook", func(s *argo.ApplicationSet) {
				s.Annotations = map[string]string{"stepgate.io/mode": "off"}
			})
		}, []string{
			"Off or exempt: ApplicationSets warning", "Calls of the API server (dry-runs): early sync unknown",
		}, "kubectl -n doctored-apps annotate applicationset guestbook stepgate.io/mode-"},
	}
}

// In audit mode, the API server's warning shows that stepgate is called.
func TestDoctorInAuditMode(t *testing.T) {
	d := newDoctored(t, "doctored-audit", "config.mode=audit")
	rollout(t, "doctored-audit-apps")
	d.Eventually(func() []string { return d.bad() }).Should(ConsistOf("Running: mode warning"))
	checks, _ := d.checks("--selftest=doctored-audit-apps", "--yes")
	for name, want := range map[string]string{
		"early sync": "stepgate warns of one of a copy of doctored-audit-apps/engineering-prod-guestbook, as audit mode does.",
		"selftest":   "Passed: stepgate is in audit mode; the API server warned",
	} {
		i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == name })
		d.Expect(checks[i].Result).To(Equal(doctor.OK))
		d.Expect(checks[i].Found).To(ContainSubstring(want))
	}
}

// The match conditions that the doctor expects are those of the chart.
func TestDoctorKnowsTheConditionsOfTheChart(t *testing.T) {
	for name, namespaces := range map[string][]string{
		"all namespaces": nil, "names": {"argocd", "team-a"}, "a glob": {"argocd", "team-*", "t?[!a]"}, "a regular expression": {`/^team-[a-z]+\d$/`, "argocd"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			args := []string{"template", "stepgate", helm.Chart, "--set=config.mode=enforce"}
			for i, n := range namespaces {
				args = append(args, fmt.Sprintf("--set-literal=argocd.applicationNamespaces[%d]=%s", i, n))
			}
			text, err := helm.Run(t.Context(), args...)
			g.Expect(err).NotTo(HaveOccurred())
			rendered := 0
			for _, o := range decode(g, text) {
				if !strings.HasSuffix(o.GetKind(), "WebhookConfiguration") {
					continue
				}
				var c admissionregistrationv1.ValidatingWebhookConfiguration // a mutating one has the same conditions
				g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &c)).To(Succeed())
				g.Expect(c.Webhooks[0].MatchConditions).To(Equal(doctor.Conditions(namespaces)))
				rendered++
			}
			g.Expect(rendered).To(Equal(2))
		})
	}
}

// Nobody answers, somebody else answers, or nobody says anything: the API server's own words lead to three remedies.
// The emergency switch then lets the sync through.
func TestDoctorWhileStepgateDoesNotAnswer(t *testing.T) {
	d := newDoctored(t, "silent", "webhook.timeoutSeconds=2")
	set := rollout(t, "silent-apps")
	denied(t, set)
	d.replica.Kill()
	early, pin := "Calls of the API server (dry-runs): early sync problem",
		"Calls of the API server (dry-runs): pin problem"
	for _, tc := range []struct {
		name   string
		listen func(*doctored)
		bad    []string
		found  string
		remedy string
	}{
		{"nobody listens", func(*doctored) {}, []string{"Certificate: served chain unknown", early, pin}, "nothing listens where the API server calls", "kubectl -n silent get pods"},
		{"somebody else answers", stranger, []string{"Certificate: served chain problem", early, pin}, "the caBundle does not verify", "kubectl -n silent rollout restart deployment stepgate"},
		{"the port swallows everything", swallower, []string{"Certificate: served chain unknown", early, pin}, "the network does not let the API server reach the Pods", "Open port 10250"},
	} {
		d.Run(tc.name, func(t *testing.T) {
			d := d.in(t)
			tc.listen(d)
			d.Eventually(func() []string { return d.bad() }).WithTimeout(time.Minute).Should(ConsistOf(tc.bad))
			checks, _ := d.checks()
			i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "early sync" })
			d.Expect(checks[i].Found).To(ContainSubstring(tc.found))
			d.Expect(checks[i].Remedy + strings.Join(checks[i].Commands, "\n")).To(ContainSubstring(tc.remedy))
			d.Log(checks[i].Found)
		})
	}
	d.Run("a selftest says so, too", func(t *testing.T) {
		d := d.in(t)
		d.Expect(d.bad("--selftest=silent-apps",
			"--yes")).To(ContainElement("Calls of the API server (dry-runs): selftest problem"))
	})
	d.Run("the emergency switch lets the sync through", func(t *testing.T) {
		d := d.in(t)
		text, code := d.asks("--emergency")
		d.Expect(code).To(Equal(0))
		d.Expect(text).To(ContainSubstring("$ kubectl label namespace silent-apps stepgate.io/ignore=true"))
		text, code = d.asks("--emergency", "--apply")
		d.Expect(code).To(Equal(2), "there is no terminal")
		d.Expect(text).To(ContainSubstring("--yes does it without asking"))
		d.Expect(sync(t, set, "qa", client.DryRunAll)).To(MatchError(ContainSubstring("failed calling webhook")))
		text, code = d.asks("--emergency", "--apply", "--yes")
		d.Expect(code).To(Equal(0), text)
		d.Expect(text).To(ContainSubstring("kubectl label namespace silent-apps stepgate.io/ignore-"))
		d.Eventually(func() error { return sync(t, set, "qa", client.DryRunAll) }).Should(Succeed())
		d.Expect(sync(t, set, "qa")).To(Succeed())
	})
	d.Run("both configurations are removed", func(t *testing.T) {
		d := d.in(t)
		text, code := d.asks("--emergency", "--apply", "--yes", "--way=webhooks")
		d.Expect(code).To(Equal(0), text)
		left, err := installed.Configurations(d.Context(), shared, "stepgate")
		d.Expect(err).To(MatchError(ContainSubstring("not found")), "%v", left)
		text, code = d.asks("--emergency")
		d.Expect(code).To(Equal(0))
		d.Expect(text).To(ContainSubstring("stepgate is not installed: no webhook configuration"))
		checks, code := d.checks()
		d.Expect(code).To(Equal(1))
		d.Expect(checks[1].Commands).To(ConsistOf(ContainSubstring("helm install stepgate")))
	})
}

// stranger serves at stepgate's address with a certificate that no caBundle verifies.
func stranger(d *doctored) {
	certificate, key, err := cluster.SelfSigned("stranger", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	d.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(certificate, key)
	d.Expect(err).NotTo(HaveOccurred())
	listener, err := tls.Listen("tcp", d.replica.Webhook, &tls.Config{Certificates: []tls.Certificate{pair}})
	d.Expect(err).NotTo(HaveOccurred())
	server := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }()
	d.Cleanup(func() { _ = server.Close() })
}

// swallower takes connections at stepgate's address, and says nothing.
func swallower(d *doctored) {
	listener, err := net.Listen("tcp", d.replica.Webhook)
	d.Expect(err).NotTo(HaveOccurred())
	d.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			d.Cleanup(func() { _ = connection.Close() })
		}
	}()
}

// Somebody with few rights gets the answers that these rights give.
func TestDoctorWithoutRights(t *testing.T) {
	d := newDoctored(t, "unseen")
	denied(t, rollout(t, "unseen-apps"))
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.Admin.Create(ctx, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: "unseen", Name: "reader"},
	})).To(Succeed())
	kubeconfig, err := shared.Kubeconfig(ctx, "unseen", "reader", "")
	g.Expect(err).NotTo(HaveOccurred())
	d.kubeconfig = kubeconfig
	text, code := d.asks()
	g.Expect(code).To(Equal(2), text)
	g.Expect(text).To(ContainSubstring("the webhook configurations could not be read"))

	meta := metav1.ObjectMeta{Name: "unseen-reader"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}, Verbs: []string{"list"},
		},
		{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"}, Verbs: []string{"list", "create"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "unseen", Name: "reader"}},
	}
	for _, o := range []client.Object{role, binding} {
		g.Expect(shared.Admin.Create(ctx, o)).To(Succeed())
		t.Cleanup(func() { g.Expect(shared.Admin.Delete(contextOfCleanup(), o)).To(Succeed()) })
	}
	g.Eventually(func() int { text, code = d.asks(); return code }).Should(Equal(0))
	t.Log(text)
	g.Expect(text).To(And(
		ContainSubstring("stepgate refuses one of a copy of unseen-apps/engineering-prod-guestbook"),
		ContainSubstring("you may not list namespaces."), ContainSubstring("you may not patch"),
		ContainSubstring("--user=system:serviceaccount:unseen:reader"), ContainSubstring("The others are fine."),
	))
}
