// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
)

// part are some values, and what an installation with them has, whatever the values of another part are.
type part struct {
	// values are YAML.
	values string
	// kubernetes is the version that Helm renders for, without the APIs of others; empty means that of the suite's API
	// server, and the APIs of prometheus-operator.
	kubernetes string
	// has and lacks are objects as KIND NAME, or KIND NAMESPACE/NAME. $NAME is the full name of the release.
	has, lacks []string
	// args are arguments of the webhook's container, with the $NAME of has, and reporterArgs of the reporter's.
	args, reporterArgs []string
	// fields are texts by KIND NAME {JSONPATH}.
	fields map[string]string
}

// installations are the values that say what stepgate does.
var installations = map[string]part{
	"with the defaults": {
		has:   []string{"Deployment $NAME", "Service $NAME", "Secret $NAME-ca", "ClusterRole $NAME", "Role $NAME-ca", "ValidatingAdmissionPolicy $NAME", "ValidatingAdmissionPolicy $NAME-secrets", "Application $NAME-barrier", "Role $NAME-barrier"},
		lacks: []string{"Certificate $NAME-tls", "Role $NAME-start", "Role $NAME-slots", "ValidatingAdmissionPolicy $NAME-evidence"},
		args:  []string{"--mode=audit", "--pin=compared", "--start=false", "--write-barrier=true", "--installation=gates/$NAME"},
		fields: map[string]string{
			"ValidatingWebhookConfiguration $NAME {.webhooks[*].failurePolicy}": "Ignore Fail", "ValidatingWebhookConfiguration $NAME {.webhooks[*].timeoutSeconds}": "2 5",
			"MutatingWebhookConfiguration $NAME {.webhooks[*].name}": "hold.stepgate.io annotations.stepgate.io",
		},
	},
	"in enforce mode": {
		values: "{config: {mode: enforce}, log: {level: warn}}",
		args:   []string{"--zap-log-level=error", "--mode=enforce", "--pin=compared", "--hold=true", "--release=true", "--start=false"},
		fields: map[string]string{
			"ValidatingWebhookConfiguration $NAME {.webhooks[0].failurePolicy}": "Fail", "ValidatingWebhookConfiguration $NAME {.webhooks[*].timeoutSeconds}": "5 5",
			"MutatingWebhookConfiguration $NAME {.webhooks[*].name}": "hold.stepgate.io annotations.stepgate.io", "MutatingWebhookConfiguration $NAME {.webhooks[0].failurePolicy}": "Ignore",
		},
	},
	"starting what is due": {
		values: "{config: {mode: enforce}, start: {enabled: true}, pin: {mode: candidate}}",
		has:    []string{"Role $NAME-start", "RoleBinding $NAME-start"},
		args:   []string{"--start=true", "--pin=candidate"},
	},
	"telling people": {
		values: "{config: {mode: enforce}, notifications: {enabled: true}}",
		has: []string{"Deployment $NAME-reporter", "ServiceAccount $NAME-reporter", "ClusterRole $NAME-reporter", "Role argocd/$NAME-reporter-argocd", "RoleBinding argocd/$NAME-reporter-argocd",
			"Role $NAME-reporter-sent", "RoleBinding $NAME-reporter-sent", "ValidatingAdmissionPolicy $NAME-reporter", "ValidatingAdmissionPolicyBinding $NAME-reporter"},
		lacks:        []string{"PodDisruptionBudget $NAME-reporter"},
		reporterArgs: []string{"--mode=enforce", "--argocd-namespace=argocd", "--notifications=true"},
		fields: map[string]string{
			"Role argocd/$NAME-reporter-argocd {.rules[*].resourceNames}":             `["argocd-notifications-cm"] ["argocd-notifications-secret"]`,
			"ValidatingAdmissionPolicy $NAME-reporter {.spec.validations[0].message}": "of ConfigMaps, stepgate's reporter may only write the one that keeps what it has sent",
		},
	},
	"waiting for evidence": {
		values: "{config: {mode: enforce, verify: {kinds: [jobs.v1.batch, analysisruns.v1alpha1.argoproj.io], namespaces: [team-a], create: true}}, argocd: {applicationNamespaces: [argocd]}}",
		has: []string{"Role team-a/$NAME-verify", "RoleBinding team-a/$NAME-verify",
			"ValidatingAdmissionPolicy $NAME-evidence", "ValidatingAdmissionPolicyBinding $NAME-evidence"},
		lacks: []string{"Role argocd/$NAME-verify"},
		args:  []string{"--verify-kinds=jobs.v1.batch", "--verify-kinds=analysisruns.v1alpha1.argoproj.io", "--verify-namespaces=team-a", "--verify-create=true"},
		fields: map[string]string{
			"Role team-a/$NAME-verify {.rules[*].resources} {.rules[*].verbs}": `["jobs"] ["analysisruns"] ["get","list","watch"] ["get","list","watch"]`,
		},
	},
	"keeping maxUpdate": {
		values: "config: {mode: enforce, maxUpdate: true}",
		has:    []string{"Role $NAME-slots", "RoleBinding $NAME-slots", "ValidatingAdmissionPolicy $NAME-configmaps"},
		args:   []string{"--max-update=true"},
		fields: map[string]string{
			"Role $NAME-slots {.rules[*].resources} {.rules[*].verbs}":                  `["configmaps"] ["get","list","create","update","delete"]`,
			"ValidatingAdmissionPolicy $NAME-configmaps {.spec.validations[0].message}": "of ConfigMaps, stepgate may only write those that keep the slots of steps and the ledger",
		},
	},
	"holding nothing": {
		values: "{config: {mode: enforce}, hold: {enabled: false}, releaseWaiting: {enabled: false}}",
		lacks:  []string{"ValidatingAdmissionPolicy $NAME"},
		args:   []string{"--hold=false", "--release=false"},
	},
	"with cert-manager": {
		values: "{config: {mode: enforce}, certs: {mode: certManager}}",
		has:    []string{"Certificate $NAME-tls", "Certificate $NAME-ca", "Issuer $NAME-ca", "Issuer $NAME-selfsigned"},
		lacks:  []string{"Secret $NAME-ca", "Role $NAME-ca", "ValidatingAdmissionPolicy $NAME-secrets"},
		args:   []string{"--cert-dir=/tls"},
		fields: map[string]string{"Deployment $NAME {.spec.template.spec.volumes[?(@.name=='tls')].secret.secretName}": "$NAME-tls"},
	},
	"with a certificate of one's own": {
		values: "certs: {mode: external, external: {secretName: mine, caBundle: '-----BEGIN CERTIFICATE-----'}}",
		lacks:  []string{"Secret $NAME-ca", "Role $NAME-ca", "Certificate $NAME-tls", "Issuer $NAME-ca"},
		fields: map[string]string{"Deployment $NAME {.spec.template.spec.volumes[?(@.name=='tls')].secret.secretName}": "mine", "ValidatingWebhookConfiguration $NAME {.webhooks[0].clientConfig.caBundle}": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"},
	},
	"for two namespaces": {
		values: "{config: {mode: enforce}, argocd: {applicationNamespaces: [argocd, team-a]}}",
		has:    []string{"Role argocd/$NAME", "Role team-a/$NAME", "RoleBinding argocd/$NAME", "RoleBinding team-a/$NAME", "Role argocd/$NAME-selftest"},
		lacks:  []string{"Application $NAME-barrier", "Role $NAME-barrier"},
		args:   []string{"--write-barrier=false", "--application-namespaces=argocd", "--application-namespaces=team-a"},
		fields: map[string]string{
			"ValidatingWebhookConfiguration $NAME {.webhooks[0].namespaceSelector.matchExpressions[1].values}": `["argocd","team-a"]`,
			"ClusterRole $NAME {.rules[?(@.apiGroups[0]=='argoproj.io')].verbs}":                               `["list"]`,
		},
	},
	"for patterns of namespaces": {
		values: "argocd: {applicationNamespaces: ['team-*', '/^argo/']}",
		has:    []string{"ClusterRole $NAME", "Role argocd/$NAME-selftest", "Application $NAME-barrier"},
		lacks:  []string{"Role argocd/$NAME", "Role team-a/$NAME"},
		args:   []string{"--application-namespaces=team-*"},
		fields: map[string]string{"ValidatingWebhookConfiguration $NAME {.webhooks[*].matchConditions[?(@.name=='gated-namespace')].expression}": `request.namespace.matches("^team-.*$") || request.namespace.matches("^argo") request.namespace.matches("^team-.*$") || request.namespace.matches("^argo")`},
	},
	"without rights of its own": {
		values: "{rbac: {create: false}, serviceAccount: {create: false, name: somebody}, reporter: {serviceAccount: {name: another}}}",
		lacks:  []string{"ClusterRole $NAME", "ClusterRoleBinding $NAME", "Role $NAME-ca", "Role argocd/$NAME-projects", "ServiceAccount $NAME", "ServiceAccount somebody", "ServiceAccount another"},
		fields: map[string]string{"Deployment $NAME {.spec.template.spec.serviceAccountName}": "somebody"},
	},
	"on Kubernetes 1.28": {
		kubernetes: "1.28",
		lacks:      []string{"ValidatingAdmissionPolicy $NAME", "ValidatingAdmissionPolicy $NAME-secrets", "ValidatingAdmissionPolicyBinding $NAME"},
	},
}

// additions are values that say how it runs. Each goes with each of the installations.
var additions = map[string]part{
	"and nothing else": {
		has:   []string{"PodDisruptionBudget $NAME", "Service $NAME-metrics"},
		lacks: []string{"NetworkPolicy $NAME", "ServiceMonitor $NAME", "PrometheusRule $NAME", "FlowSchema $NAME", "ConfigMap $NAME-dashboard"},
	},
	"and names and labels of one's own": {
		values: "{fullnameOverride: a-name-that-is-longer-than-forty-characters, commonLabels: {team: platform}, commonAnnotations: {contact: ops}}",
		fields: map[string]string{
			"Deployment $NAME {.spec.template.metadata.labels.team}": "platform", "Service $NAME {.metadata.annotations.contact}": "ops",
			"Deployment $NAME {.metadata.name}": "a-name-that-is-longer-than-forty-charact",
		},
	},
	"and monitoring": {
		values: "metrics: {serviceMonitor: {enabled: true, namespace: monitoring, renderMode: alwaysRender, additionalLabels: {prometheus: main}}, prometheusRule: {enabled: true}, grafanaDashboard: {enabled: true}}",
		has:    []string{"ServiceMonitor monitoring/$NAME", "PrometheusRule monitoring/$NAME", "ConfigMap $NAME-dashboard"},
		fields: map[string]string{"ServiceMonitor $NAME {.spec.namespaceSelector.matchNames} {.metadata.labels.prometheus}": `["gates"] main`},
	},
	"and no metrics": {
		values: "metrics: {enabled: false}",
		lacks:  []string{"Service $NAME-metrics"},
		args:   []string{"--metrics-bind-address=0"},
		fields: map[string]string{"Deployment $NAME {.spec.template.spec.containers[0].ports[*].name}": "webhook probes"},
	},
	"and a NetworkPolicy": {
		values: "networkPolicy: {enabled: true}",
		has:    []string{"NetworkPolicy $NAME"},
		fields: map[string]string{"NetworkPolicy $NAME {.spec.policyTypes} {.spec.ingress[0].ports[*].port} {.spec.egress[*].ports[*].port}": `["Ingress","Egress"] webhook metrics 443 6443 8443 16443 53 5353 53 5353`},
	},
	"and the node's network": {
		values: "{hostNetwork: true, webhook: {port: 9443}}",
		args:   []string{"--webhook-bind-address=:9443"},
		fields: map[string]string{"Deployment $NAME {.spec.template.spec.hostNetwork} {.spec.template.spec.dnsPolicy}": "true ClusterFirstWithHostNet", "Pod $NAME-selftest {.spec.hostNetwork}": "true"},
	},
	"and a URL": {
		values: "webhook: {url: 'https://10.0.0.1:8443/validate'}",
		fields: map[string]string{"ValidatingWebhookConfiguration $NAME {.webhooks[*].clientConfig.url}": "https://10.0.0.1:8443/validate https://10.0.0.1:8443/validate-applicationset"},
	},
	"and exemptions": {
		values: "webhook: {exemptApplications: [{namespace: argocd, name: stepgate}, {namespace: argocd, name: 'cni-*'}, {namespace: 'team-?', name: 'dns.[!a-c]'}]}",
		fields: map[string]string{
			"ValidatingWebhookConfiguration $NAME {.webhooks[*].matchConditions[?(@.name=='not-exempt')].expression}": "!(has(object.metadata.name) && ((request.namespace + '/' + object.metadata.name) in ['argocd/stepgate'] " +
				"|| (request.namespace + '/' + object.metadata.name).matches(r'^argocd/cni-.*$') || (request.namespace + '/' + object.metadata.name).matches(r'^team-./dns\\.[^a-c]$')))",
		},
	},
	"and one replica without sync windows": {
		values: "{replicaCount: 1, syncWindows: {enabled: false}}",
		lacks:  []string{"PodDisruptionBudget $NAME", "Role argocd/$NAME-projects", "RoleBinding argocd/$NAME-projects"},
		args:   []string{"--sync-windows=false"},
		fields: map[string]string{"Deployment $NAME {.spec.replicas}": "1"},
	},
	"and a share of the API server, with two families of addresses": {
		values: "{flowControl: {enabled: true}, service: {ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4]}}",
		has:    []string{"FlowSchema $NAME", "PriorityLevelConfiguration $NAME"},
		fields: map[string]string{
			"FlowSchema $NAME {.spec.matchingPrecedence} {.spec.priorityLevelConfiguration.name}": "900 $NAME",
			"Service $NAME {.spec.ipFamilyPolicy} {.spec.ipFamilies}":                             `PreferDualStack ["IPv4"]`, "Service $NAME-metrics {.spec.ipFamilyPolicy}": "PreferDualStack",
		},
	},
	"and callers with certificates, and an image from elsewhere": {
		values: "{webhook: {clientCA: {configMap: callers, allowedNames: [apiserver]}}, tracing: {endpoint: 'collector:4317'}, priorityClassName: system-cluster-critical, " +
			"global: {imageRegistry: registry.example.com:5000/mirror, imagePullSecrets: [{name: global}]}, imagePullSecrets: [{name: own}], image: {tag: v9}}",
		args: []string{"--client-ca-file=/client-ca/ca.crt", "--client-allowed-name=apiserver", "--tracing-endpoint=collector:4317"},
		fields: map[string]string{
			"Deployment $NAME {.spec.template.spec.volumes[?(@.name=='client-ca')].configMap.name} {.spec.template.spec.priorityClassName}": "callers system-cluster-critical",
			"Deployment $NAME {.spec.template.spec.containers[0].image} {.spec.template.spec.imagePullSecrets[*].name}":                     "registry.example.com:5000/mirror/stepgate/stepgate:v9 global own",
			"Pod $NAME-selftest {.spec.containers[0].image} {.spec.imagePullSecrets[*].name}":                                               "registry.example.com:5000/mirror/stepgate/stepgate:v9 global own",
		},
	},
	"and answers for Argo CD's UI": {
		values: "{ui: {enabled: true, tokenSecret: {name: stepgate-ui}}, networkPolicy: {enabled: true}, reporter: {replicas: 2, egress: [{to: [{ipBlock: {cidr: 10.0.0.1/32}}]}]}," +
			" container: {env: [{name: SSL_CERT_FILE, value: /ca}]}, pod: {dnsPolicy: Default}, image: {tag: v9}}",
		has:          []string{"Service $NAME-ui", "Deployment $NAME-reporter", "Service $NAME-reporter-metrics", "NetworkPolicy $NAME-reporter"},
		reporterArgs: []string{"--ui-bind-address=:8082", "--ui-token-file=/ui/token"},
		fields: map[string]string{
			"Service $NAME-ui {.spec.ports[*].port} {.spec.ports[*].targetPort} {.spec.selector['app\\.kubernetes\\.io/component']}":                                               "8082 ui reporter",
			"Deployment $NAME-reporter {.spec.template.spec.volumes[?(@.name=='ui')].secret.secretName} {.spec.template.spec.volumes[?(@.name=='ui')].secret.optional}":            "stepgate-ui true",
			"Deployment $NAME-reporter {.spec.replicas} {.spec.template.spec.containers[0].env[0].name} {.spec.template.spec.dnsPolicy} {.spec.template.spec.containers[0].image}": "2 SSL_CERT_FILE Default ghcr.io/stepgate/stepgate-reporter:v9",
			"NetworkPolicy $NAME-reporter {.spec.ingress[1].ports[*].port} {.spec.ingress[1].from[0].namespaceSelector.matchLabels} {.spec.egress[*].to[0].ipBlock.cidr}":          `ui {"kubernetes.io/metadata.name":"argocd"} 10.0.0.1/32`,
			"NetworkPolicy $NAME {.spec.ingress[*].ports[*].port}": "webhook metrics",
		},
	},
	"and three replicas": {
		values: "{replicaCount: 3, podDisruptionBudget: {maxUnavailable: 50%}, shutdownDelay: 20s, config: {bypassUsers: [alice]}, approvals: {groups: ['oidc:sre'], fourEyes: true}}",
		args:   []string{"--shutdown-delay=20s", "--bypass-user=alice", "--approver-group=oidc:sre", "--approve-four-eyes=true"},
		fields: map[string]string{"PodDisruptionBudget $NAME {.spec.maxUnavailable}": "50%", "Deployment $NAME {.spec.template.spec.terminationGracePeriodSeconds}": "30"},
	},
}

// rendering is what Helm renders for an installation with an addition.
type rendering struct {
	parts   []part
	text    string
	objects []*unstructured.Unstructured
}

// allRenderings are all renderings, after the first call of renderings.
var allRenderings map[string]*rendering

// renderings are all of them, by their sentence. Helm renders each once for all tests, and several at once.
func renderings(t *testing.T) map[string]*rendering {
	t.Helper()
	if allRenderings != nil {
		return allRenderings
	}
	all := map[string]*rendering{}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for name, installation := range installations {
		for more, addition := range additions {
			r := &rendering{parts: []part{installation, addition}}
			all[name+" "+more] = r
			args := r.arguments(t)
			group.Go(func() (err error) {
				r.text, err = helm.Run(t.Context(), args...)
				return err
			})
		}
	}
	g := NewWithT(t)
	g.Expect(group.Wait()).To(Succeed())
	for _, r := range all {
		r.objects = decode(g, r.text)
	}
	allRenderings = all
	return all
}

// valueFiles are arguments with the values. The second part's go before the first's.
func (r *rendering) valueFiles(t *testing.T) (args []string) {
	t.Helper()
	for i, p := range r.parts {
		file := filepath.Join(t.TempDir(), fmt.Sprint(i, ".yaml"))
		NewWithT(t).Expect(os.WriteFile(file, []byte(p.values), 0o600)).To(Succeed())
		args = append(args, "--values="+file)
	}
	return args
}

// arguments are those of helm template.
func (r *rendering) arguments(t *testing.T) []string {
	t.Helper()
	args := append([]string{"template", "stepgate", helm.Chart, "--namespace=gates"}, r.valueFiles(t)...)
	if version := r.version(); version != "" {
		return append(args, "--kube-version="+version)
	}
	args = append(args, "--kube-version="+shared.Version().String(), "--api-versions=monitoring.coreos.com/v1")
	if !shared.HasAdmissionPolicies() { // TestMain switches them on
		args = append(args, "--api-versions=admissionregistration.k8s.io/v1beta1/ValidatingAdmissionPolicy")
	}
	return args
}

// version is the one of Kubernetes that a part asks for.
func (r *rendering) version() string { return r.parts[0].kubernetes + r.parts[1].kubernetes }

// deployment is the webhook's.
func (r *rendering) deployment() *unstructured.Unstructured { return r.deploymentOf("webhook") }

// reporter is the Deployment of the reporter, or nil.
func (r *rendering) reporter() *unstructured.Unstructured { return r.deploymentOf(reporter) }

// reporter is the component that the objects of the reporter have as a label.
const reporter = "reporter"

func componentOf(o *unstructured.Unstructured) string {
	return o.GetLabels()["app.kubernetes.io/component"]
}

func (r *rendering) deploymentOf(component string) *unstructured.Unstructured {
	for _, o := range r.ofKind("Deployment") {
		if componentOf(o) == component {
			return o
		}
	}
	return nil
}

// fullName is the name of the release's objects.
func (r *rendering) fullName() string { return r.deployment().GetName() }

func (r *rendering) ofKind(kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(r.objects), func(o *unstructured.Unstructured) bool {
		return !slices.Contains(kinds, o.GetKind())
	})
}

// find is the object of a part's text, or nil.
func (r *rendering) find(text string) *unstructured.Unstructured {
	kind, name, _ := strings.Cut(r.named(text), " ")
	namespace, short, namespaced := strings.Cut(name, "/")
	for _, o := range r.ofKind(kind) {
		if o.GetName() == name || namespaced && o.GetNamespace() == namespace && o.GetName() == short {
			return o
		}
	}
	return nil
}

// named puts the full name into a part's text.
func (r *rendering) named(text string) string { return strings.ReplaceAll(text, "$NAME", r.fullName()) }

// Each combination has what its values ask for, and nothing that they do not. Together with the next test, this is
// about all values: see additions and installations.
func TestEveryCombinationHasWhatItsValuesSay(t *testing.T) {
	all := renderings(t)
	NewWithT(t).Expect(len(all)).To(BeNumerically(">=", 100))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), all[name]
			for _, p := range r.parts {
				for _, text := range p.has {
					g.Expect(r.find(text)).NotTo(BeNil(), text)
				}
				for _, text := range p.lacks {
					g.Expect(r.find(text)).To(BeNil(), text)
				}
				for _, arg := range p.args {
					g.Expect(argumentsOf(g, r.deployment(), "spec", "template", "spec", "containers")).
						To(ContainElement(r.named(arg)))
				}
				for _, arg := range p.reporterArgs {
					g.Expect(argumentsOf(g, r.reporter(), "spec", "template", "spec", "containers")).
						To(ContainElement(r.named(arg)))
				}
				for place, want := range p.fields {
					object, path, _ := strings.Cut(place, " {")
					o := r.find(object)
					g.Expect(o).NotTo(BeNil(), object)
					g.Expect(field(g, o, "{"+path)).To(Equal(r.named(want)), place)
				}
			}
			r.isWhole(g)
		})
	}
}

// field are the texts at a JSONPath.
func field(g *WithT, o *unstructured.Unstructured, path string) string {
	j := jsonpath.New("field").AllowMissingKeys(true)
	g.Expect(j.Parse(path)).To(Succeed(), path)
	var text bytes.Buffer
	g.Expect(j.Execute(&text, o.Object)).To(Succeed(), path)
	return text.String()
}

// Helm's own lint is content with each part by itself.
func TestEveryPartPassesLint(t *testing.T) {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, parts := range []map[string]part{installations, additions} {
		for name, p := range parts {
			r := &rendering{parts: []part{p, {}}}
			args := append([]string{"lint", "--strict", helm.Chart}, r.valueFiles(t)...)
			group.Go(func() error {
				_, err := helm.Run(t.Context(), args...)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			})
		}
	}
	NewWithT(t).Expect(group.Wait()).To(Succeed())
}
