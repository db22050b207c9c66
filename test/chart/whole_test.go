// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/notify"
)

// isWhole asserts what holds with any values: the objects fit together.
func (r *rendering) isWhole(g *WithT) {
	r.hasNoEmptyDocument(g)
	r.hasNamesAndLabels(g)
	for _, pod := range r.pods(g) {
		r.isPod(g, pod)
	}
	r.selects(g)
	r.flagsAreValid(g)
	r.rightsAreBound(g)
	r.rightsAreUsed(g)
	r.webhooksAreWhole(g)
	r.policiesAreBound(g)
}

// as converts an object to a type of Kubernetes. A field that the type does not have is an error.
func as[T any](g *WithT, o *unstructured.Unstructured) *T {
	object := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, object, true)
	g.Expect(err).NotTo(HaveOccurred(), o.GetKind()+" "+o.GetName())
	return object
}

func (r *rendering) hasNoEmptyDocument(g *WithT) {
	for i, document := range strings.Split(r.text, "\n---\n") {
		for line := range strings.Lines(document) {
			if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
				document = ""
				break
			}
		}
		g.Expect(document).To(BeEmpty(), "document %d has nothing but comments", i)
	}
	for line := range strings.Lines(r.text) {
		g.Expect(strings.TrimRight(line, "\n")).NotTo(MatchRegexp(`<no value>|: <nil>|%!`))
	}
}

// clusterScoped are the kinds of the chart that have no namespace.
var clusterScoped = []string{
	"ClusterRole", "ClusterRoleBinding", "FlowSchema", "MutatingWebhookConfiguration", "PriorityClass", "PriorityLevelConfiguration", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
}

// sameLabels are the labels that all objects have with the same values, or all have not.
var sameLabels = []string{
	"helm.sh/chart", "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by",
	"app.kubernetes.io/part-of", "team",
}

func (r *rendering) hasNamesAndLabels(g *WithT) {
	seen := map[string]bool{}
	own := r.deployment().GetLabels()
	for _, o := range r.objects {
		key := strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, " ")
		g.Expect(seen).NotTo(HaveKey(key))
		seen[key] = true
		g.Expect(validation.IsDNS1123Label(o.GetName())).To(BeEmpty(), key)
		g.Expect(o.GetNamespace() == "").To(Equal(slices.Contains(clusterScoped, o.GetKind())), key)
		for _, label := range sameLabels {
			g.Expect(o.GetLabels()[label]).To(Equal(own[label]), key+": "+label)
		}
		g.Expect(o.GetLabels()).To(HaveKey("app.kubernetes.io/component"), key)
		g.Expect(o.GetAnnotations()["contact"]).To(Equal(r.deployment().GetAnnotations()["contact"]), key)
		if hook := o.GetAnnotations()["helm.sh/hook"]; strings.HasSuffix(o.GetName(), "-selftest") {
			g.Expect(hook).To(Equal("test"), key)
		} else {
			g.Expect(hook).To(BeEmpty(), "helm test has the only hooks: "+key)
		}
	}
}

// pods are the Pod of the webhook, the one of helm test, and the one of the reporter if there is one.
func (r *rendering) pods(g *WithT) []*corev1.Pod {
	pods := []*corev1.Pod{podOf(g, r.deployment())}
	for _, o := range r.ofKind("Pod") {
		pods = append(pods, as[corev1.Pod](g, o))
	}
	g.Expect(pods).To(HaveLen(2))
	if r.reporter() != nil {
		pods = append(pods, podOf(g, r.reporter()))
	}
	g.Expect(r.ofKind("Deployment")).To(HaveLen(len(pods) - 1))
	return pods
}

func podOf(g *WithT, deployment *unstructured.Unstructured) *corev1.Pod {
	template := as[appsv1.Deployment](g, deployment).Spec.Template
	g.Expect(template.Labels).NotTo(HaveKey("helm.sh/chart"), "a new version of the chart alone would replace all Pods")
	return &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
}

func (r *rendering) isPod(g *WithT, pod *corev1.Pod) {
	g.Expect(pod.Spec.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()))
	g.Expect(pod.Spec.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
	accounts := r.ofKind("ServiceAccount")
	g.Expect(pod.Spec.ServiceAccountName).To(Or(Equal("somebody"), Equal("another"),
		BeElementOf(namesOf(accounts))), "the account of a Pod exists")
	g.Expect(pod.Spec.ServiceAccountName).NotTo(Or(BeEmpty(), Equal("default")))
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = false
	}
	for _, c := range pod.Spec.Containers {
		g.Expect(c.Resources.Requests).To(And(HaveKey(corev1.ResourceCPU), HaveKey(corev1.ResourceMemory)), c.Name)
		g.Expect(c.Resources.Limits).To(And(HaveKey(corev1.ResourceMemory), Not(HaveKey(corev1.ResourceCPU))), c.Name)
		g.Expect(c.SecurityContext.AllowPrivilegeEscalation).To(HaveValue(BeFalse()), c.Name)
		g.Expect(c.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()), c.Name)
		g.Expect(c.SecurityContext.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")), c.Name)
		g.Expect(c.Image).To(MatchRegexp(`^[a-z0-9.:/-]+/stepgate(-reporter)?:v[0-9.]+$`), c.Name)
		for _, m := range c.VolumeMounts {
			g.Expect(volumes).To(HaveKey(m.Name), "a mount has a volume")
			g.Expect(m.ReadOnly).To(BeTrue(), m.Name)
			volumes[m.Name] = true
		}
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
			if c.Name == "stepgate" || c.Name == reporter {
				g.Expect(portsOf(c)).To(ContainElement(probe.HTTPGet.Port.StrVal))
			}
		}
	}
	g.Expect(volumes).NotTo(ContainElement(false), "a volume is mounted")
}

func portsOf(c corev1.Container) (names []string) {
	for _, p := range c.Ports {
		names = append(names, p.Name)
	}
	return names
}

func namesOf(objects []*unstructured.Unstructured) (names []string) {
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	return names
}

// selects asserts that everything that selects Pods selects those of one Deployment, and not the one of helm test; and
// that the ServiceMonitor selects the Services of metrics.
func (r *rendering) selects(g *WithT) {
	pods, deployment := r.pods(g), as[appsv1.Deployment](g, r.deployment())
	spec := deployment.Spec.Template.Spec
	for _, c := range spec.TopologySpreadConstraints {
		g.Expect(selected(g, pods, c.LabelSelector.MatchLabels, "spread over "+c.TopologyKey)).To(Equal(pods[0]))
	}
	for _, term := range spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		apart := term.PodAffinityTerm
		g.Expect(selected(g, pods, apart.LabelSelector.MatchLabels, "apart by "+apart.TopologyKey)).To(Equal(pods[0]))
	}
	for _, o := range r.ofKind("Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy") {
		path := map[string][]string{
			"Deployment": {"spec", "selector", "matchLabels"}, "Service": {"spec", "selector"},
			"PodDisruptionBudget": {"spec", "selector", "matchLabels"}, "NetworkPolicy": {"spec", "podSelector", "matchLabels"},
		}[o.GetKind()]
		selector, found, err := unstructured.NestedStringMap(o.Object, path...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(BeTrue(), o.GetKind())
		pod, suffix := selected(g, pods, selector, o.GetName()), strings.TrimPrefix(o.GetName(), r.fullName())
		g.Expect(pod != pods[0]).To(Equal(strings.HasPrefix(suffix, "-reporter") || suffix == "-ui"), o.GetName())
		if o.GetKind() == "Service" {
			for _, p := range as[corev1.Service](g, o).Spec.Ports {
				g.Expect(portsOf(pod.Spec.Containers[0])).To(ContainElement(p.TargetPort.StrVal), o.GetName())
			}
		}
	}
	for _, monitor := range r.ofKind("ServiceMonitor") {
		selector, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
		g.Expect(err).NotTo(HaveOccurred())
		services := slices.DeleteFunc(r.ofKind("Service"), func(o *unstructured.Unstructured) bool {
			return !labels.SelectorFromSet(selector).Matches(labels.Set(o.GetLabels()))
		})
		want := []string{r.fullName() + "-metrics"}
		if r.reporter() != nil {
			want = append(want, r.fullName()+"-reporter-metrics")
		}
		g.Expect(namesOf(services)).To(ConsistOf(want))
	}
}

// selected is the only one of the Pods that a selector selects; it is not the one of helm test.
func selected(g *WithT, pods []*corev1.Pod, selector map[string]string, name string) (found *corev1.Pod) {
	g.Expect(selector).To(HaveLen(3), name)
	for i, pod := range pods {
		if labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
			g.Expect(found).To(BeNil(), name)
			g.Expect(i).NotTo(Equal(1), name+": helm test")
			found = pod
		}
	}
	g.Expect(found).NotTo(BeNil(), name)
	return found
}

// flagsAreValid has the programs themselves read the arguments of their Deployments.
func (r *rendering) flagsAreValid(g *WithT) {
	webhook := &flags.Options{}
	parseArguments(g, r.deployment(), webhook)
	if r.reporter() == nil {
		return
	}
	reporter := &flags.Reporter{}
	parseArguments(g, r.reporter(), reporter)
	for _, rule := range []*flags.Rule{&webhook.Rule, &reporter.Rule} {
		config, err := rule.Config()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.Expressions).NotTo(BeNil())
	}
	g.Expect(reporter.Rule).To(Equal(webhook.Rule), "it tells what the gate decides")
}

// options are the flags of one of the programs.
type options interface {
	Bind(f *pflag.FlagSet)
	Validate() error
}

// parseArguments reads the arguments of a Deployment.
func parseArguments(g *WithT, deployment *unstructured.Unstructured, options options) {
	args := argumentsOf(g, deployment, "spec", "template", "spec", "containers")
	g.Expect(args[0]).To(Equal("serve"))
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	options.Bind(set)
	flags.BindLog(set, &zap.Options{})
	g.Expect(set.Parse(args[1:])).To(Succeed())
	g.Expect(options.Validate()).To(Succeed())
	seen := map[string]bool{}
	for _, arg := range args {
		g.Expect(seen).NotTo(HaveKey(arg), "an argument is there once")
		seen[arg] = true
	}
}

// rightsAreBound asserts that each role is bound in its namespace, and each binding has a role and an account.
func (r *rendering) rightsAreBound(g *WithT) {
	bound := map[string]bool{}
	for _, o := range r.ofKind("RoleBinding", "ClusterRoleBinding") {
		binding := as[rbacv1.RoleBinding](g, o) // a ClusterRoleBinding has the same fields
		role := strings.Join([]string{binding.RoleRef.Kind, o.GetNamespace(), binding.RoleRef.Name}, " ")
		g.Expect(bound).NotTo(HaveKey(role))
		bound[role] = true
		account := r.pods(g)[0].Spec.ServiceAccountName
		switch {
		case strings.HasSuffix(o.GetName(), "-selftest"):
			account = o.GetName()
		case componentOf(o) == reporter:
			account = r.pods(g)[2].Spec.ServiceAccountName
		}
		g.Expect(binding.Subjects).To(ConsistOf(rbacv1.Subject{Kind: "ServiceAccount", Name: account, Namespace: "gates"}))
	}
	for _, o := range r.ofKind("Role", "ClusterRole") {
		role := strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, " ")
		g.Expect(bound).To(HaveKey(role))
		delete(bound, role)
	}
	g.Expect(bound).To(BeEmpty(), "a binding without its role")
}

// rightsAreUsed asserts that each account has a right if, and only if, the arguments make its program use it.
func (r *rendering) rightsAreUsed(g *WithT) {
	name, own := r.fullName(), "serve" // own stands for a CA of its own
	if slices.Contains(argumentsOf(g, r.deployment(), "spec", "template", "spec", "containers"), "--cert-dir=/tls") {
		own = ""
	}
	r.uses(g, r.deployment(), map[string]string{
		"patch applications": "--release=true", "patch applications " + name + "-barrier": "--write-barrier=true", "create leases": "--ledger=true",
		"update leases " + name + "-start": "--start=true", "create secrets": own, "watch secrets": own,
		"patch validatingwebhookconfigurations": own, "watch appprojects": "--sync-windows=true",
		"watch applications": "serve", "create events": "serve", "get mutatingwebhookconfigurations": "serve",
		"create configmaps": "--ledger=true", "delete configmaps": "--ledger=true", "watch configmaps": "--ledger=true",
		"watch jobs": "--verify-kinds=jobs.v1.batch", "create analysisruns": "--verify-create=true",
		"get analysistemplates":            "--verify-create=true",
		"get secrets " + notify.SecretName: "", "get configmaps " + notify.ConfigMapName: "",
	}, `create (analysisruns|configmaps|events|leases|secrets)|update (configmaps|leases|secrets)|`+
		`delete configmaps|patch (applications|validatingwebhookconfigurations|mutatingwebhookconfigurations)`)
	if r.reporter() == nil {
		return
	}
	telling := "--notifications=true"
	r.uses(g, r.reporter(), map[string]string{
		"watch applications": "serve", "watch appprojects": "--sync-windows=true", "watch jobs": "--verify-kinds=jobs.v1.batch",
		"create events": telling, "create leases": telling, "create configmaps": telling,
		"get secrets " + notify.SecretName: telling, "get configmaps " + notify.ConfigMapName: telling,
		"update configmaps " + name + "-notifications": telling, "update leases " + name + "-notifications": telling,
	}, `create (configmaps|events|leases)|update (configmaps|leases)`)
}

// uses asserts which rights the roles of a program have, and that it may write what is listed at most.
func (r *rendering) uses(g *WithT, deployment *unstructured.Unstructured, rights map[string]string, writes string) {
	var rules, named []string
	for _, o := range r.ofKind("Role", "ClusterRole") {
		if strings.HasSuffix(o.GetName(), "-selftest") || componentOf(o) != componentOf(deployment) {
			continue
		}
		for _, rule := range as[rbacv1.ClusterRole](g, o).Rules {
			text := fmt.Sprint(rule.APIGroups, rule.Resources, rule.Verbs)
			g.Expect(text).NotTo(ContainSubstring("*"), o.GetName())
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if !strings.HasSuffix(o.GetName(), "-barrier") { // that is a right to one Application of stepgate
						rules = append(rules, verb+" "+resource)
					}
					for _, name := range rule.ResourceNames {
						named = append(named, verb+" "+resource+" "+name)
					}
				}
			}
		}
	}
	args := argumentsOf(g, deployment, "spec", "template", "spec", "containers")
	for right, arg := range rights {
		used := len(rules) > 0 && slices.Contains(args, arg)
		g.Expect(slices.Contains(append(rules, named...), right)).To(Equal(used), right)
	}
	for _, right := range rules {
		g.Expect(right).To(MatchRegexp(`^(get|list|watch) |^(`+writes+`)$`), deployment.GetName())
	}
}

// webhooksAreWhole asserts that every webhook can be called, can be switched off, and is not sent every write.
func (r *rendering) webhooksAreWhole(g *WithT) {
	configurations := r.ofKind("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
	g.Expect(configurations).To(HaveLen(2))
	for _, o := range configurations {
		g.Expect(o.GetName()).To(Equal(r.fullName()))
		// A mutating webhook has the same fields and one more.
		hooks := as[admissionv1.MutatingWebhookConfiguration](g, o).Webhooks
		g.Expect(hooks).NotTo(BeEmpty())
		for _, hook := range hooks {
			g.Expect(hook.MatchConditions).NotTo(BeEmpty(), hook.Name)
			g.Expect(hook.NamespaceSelector.MatchExpressions[0].Key).To(Equal("stepgate.io/ignore"), hook.Name)
			g.Expect(*hook.TimeoutSeconds).To(BeNumerically("~", 3, 2), hook.Name)
			if service := hook.ClientConfig.Service; service != nil {
				g.Expect(r.find("Service " + service.Namespace + "/" + service.Name)).NotTo(BeNil())
			} else {
				g.Expect(hook.ClientConfig.URL).To(HaveValue(HavePrefix("https://")))
			}
		}
	}
}

// policiesAreBound asserts that each ValidatingAdmissionPolicy is bound, and is about the account of a Deployment.
func (r *rendering) policiesAreBound(g *WithT) {
	var bound []string
	for _, o := range r.ofKind("ValidatingAdmissionPolicyBinding") {
		bound = append(bound, field(g, o, "{.spec.policyName}"))
		g.Expect(field(g, o, "{.spec.validationActions}")).To(Equal(`["Deny"]`))
	}
	policies, pods := r.ofKind("ValidatingAdmissionPolicy"), r.pods(g)
	g.Expect(bound).To(ConsistOf(namesOf(policies)))
	for _, o := range policies {
		pod := pods[0]
		if o.GetName() == r.fullName()+"-reporter" {
			pod = pods[2]
		}
		account := "'system:serviceaccount:gates:" + pod.Spec.ServiceAccountName + "'"
		who := "{.spec.matchConditions[0].expression}"
		if o.GetName() == r.fullName()+"-ledger" {
			who = "{.spec.validations[0].expression}" // it is about everybody else
		}
		g.Expect(field(g, o, who)).To(HaveSuffix(account), o.GetName())
	}
}
