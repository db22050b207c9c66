// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// valueSets are the files of charts/stepgate/ci, by name.
func valueSets(t *testing.T) map[string]string {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(helm.Chart, "ci", "*-values.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(9))
	sets := map[string]string{}
	for _, file := range files {
		sets[strings.TrimSuffix(filepath.Base(file), "-values.yaml")] = file
	}
	return sets
}

// decode reads the objects of a manifest; a key that is there twice is an error.
func decode(g *WithT, text string) []*unstructured.Unstructured {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		g.Expect(err).NotTo(HaveOccurred())
		object := &unstructured.Unstructured{}
		g.Expect(yaml.UnmarshalStrict(document, &object.Object)).To(Succeed(), string(document))
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Every set of values passes helm lint --strict, and gives the same bytes whenever it is rendered: nothing is random, nothing is
// looked up, no caBundle is rendered that would be fought over.
func TestRendering(t *testing.T) {
	for name, file := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := helm.Run(t.Context(), "lint", "--strict", helm.Chart, "--values="+file)
			g.Expect(err).NotTo(HaveOccurred())
			for _, version := range []string{"1.28", "1.36"} {
				render := func() string {
					text, err := helm.Run(t.Context(), "template", "stepgate", helm.Chart, "--namespace=stepgate", "--values="+file,
						"--kube-version="+version)
					g.Expect(err).NotTo(HaveOccurred())
					return text
				}
				text := render()
				g.Expect(render()).To(Equal(text))
				objects := decode(g, text)
				for _, o := range objects {
					g.Expect(versions(version)).To(ContainElement(o.GetAPIVersion()), o.GetKind()+" for "+version)
					g.Expect(len(o.GetName())).To(BeNumerically("<=", 63))
				}
				if name != "external" {
					g.Expect(text).NotTo(ContainSubstring("caBundle:"))
				}
				hooks := slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
					return o.GetAnnotations()["helm.sh/hook"] == ""
				})
				for _, o := range hooks {
					g.Expect(o.GetAnnotations()["helm.sh/hook"]).To(Equal("test"), "helm test has the only hooks")
				}
			}
		})
	}
}

// versions are the API versions that Kubernetes of a version serves without feature gates, and cert-manager's.
func versions(kubernetes string) []string {
	served := []string{
		"v1", "apps/v1", "policy/v1", "rbac.authorization.k8s.io/v1", "admissionregistration.k8s.io/v1", "networking.k8s.io/v1", "scheduling.k8s.io/v1", "cert-manager.io/v1",
		"argoproj.io/v1alpha1", // the write barrier
	}
	if kubernetes == "1.28" {
		return append(served, "flowcontrol.apiserver.k8s.io/v1beta3")
	}
	return append(served, "flowcontrol.apiserver.k8s.io/v1")
}

// A ValidatingAdmissionPolicy is v1 from 1.30 on. Before, there is one only if it was switched on; and the notes say
// that nothing confines the account where there is none.
func TestAdmissionPolicyByVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"1.28":                 {[]string{"--kube-version=1.28"}, nil},
		"1.29":                 {[]string{"--kube-version=1.29"}, nil},
		"1.29, switched on":    {[]string{"--kube-version=1.29", "--api-versions=admissionregistration.k8s.io/v1beta1/ValidatingAdmissionPolicy"}, []string{"admissionregistration.k8s.io/v1beta1"}},
		"1.30":                 {[]string{"--kube-version=1.30"}, []string{"admissionregistration.k8s.io/v1"}},
		"1.30, nothing to say": {[]string{"--kube-version=1.30", "--set=releaseWaiting.enabled=false,certs.mode=external,certs.external.secretName=tls,config.ledger=false"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text, err := helm.Run(t.Context(), append([]string{"template", "stepgate", helm.Chart}, tc.args...)...)
			g.Expect(err).NotTo(HaveOccurred())
			var got []string
			for _, o := range decode(g, text) {
				if o.GetKind() == "ValidatingAdmissionPolicy" {
					got = append(got, o.GetAPIVersion())
				}
			}
			g.Expect(slices.Compact(got)).To(Equal(tc.want))
		})
	}
}

// Helm refuses values that cannot work, with a message that names the key.
func TestBadValues(t *testing.T) {
	for name, tc := range map[string]struct{ set, want string }{
		"an unknown key":                       {"replicas=3", "additional properties 'replicas' not allowed"},
		"an unknown key, deeper":               {"webhook.failurepolicy=Fail", "at '/webhook': additional properties 'failurepolicy' not allowed"},
		"a mode":                               {"config.mode=dryrun", "at '/config/mode': value must be one of 'enforce', 'audit'"},
		"a pin":                                {"pin.mode=head", "at '/pin/mode'"},
		"a pin of another version":             {"pin.mode=proven", "at '/pin/mode'"},
		"a strictness":                         {"config.require=all", "at '/config/require'"},
		"a failure policy":                     {"webhook.failurePolicy=fail", "at '/webhook/failurePolicy'"},
		"a timeout":                            {"webhook.timeoutSeconds=31", "webhook.timeoutSeconds: \"31\" is not right; write seconds from 1 to 30"},
		"a port that is text":                  {"webhook.port=https", "at '/webhook/port': got string, want integer"},
		"a URL without path":                   {"webhook.url=https://10.0.0.1:10250", "webhook.url: "},
		"a URL without TLS":                    {"webhook.url=http://10.0.0.1/validate", "webhook.url: "},
		"a log level":                          {"log.level=verbose", "log.level: \"verbose\" is not right; write debug, info, warn, error, or a number from 1 on"},
		"a bad name of a namespace":            {"argocd.applicationNamespaces={Team_A}", "argocd.applicationNamespaces[0]: \"Team_A\" is not right; write a name, a glob such as team-*"},
		"a regular expression, cut":            {"argocd.applicationNamespaces={/team}", "argocd.applicationNamespaces[0]: "},
		"a namespace twice":                    {"argocd.applicationNamespaces={a,a}", "at '/argocd/applicationNamespaces': items at 0 and 1 are equal"},
		"Argo CD's own namespace":              {"namespaceOverride=argocd", "namespace: argocd is Argo CD's own namespace"},
		"an operator's own namespace":          {"argocd.installation=openshift-gitops,namespaceOverride=openshift-gitops", "namespace: openshift-gitops is Argo CD's own namespace"},
		"an exemption without name":            {"webhook.exemptApplications[0].namespace=argocd", "at '/webhook/exemptApplications/0': missing property 'name'"},
		"an installation":                      {"argocd.installation=olm", "at '/argocd/installation'"},
		"an instance without operator":         {"argocd.instance=cd", "argocd.instance: "},
		"a bypass user with a comma":           {`config.bypassUsers={alice\,bob}`, "config.bypassUsers[0]: "},
		"a bypass for everybody":               {"config.bypassUsers={*}", "config.bypassUsers[0]: \"*\" is not right; write one whole user name"},
		"a budget that stops drains":           {"podDisruptionBudget.maxUnavailable=0%", "podDisruptionBudget.maxUnavailable: with 0 no node"},
		"certificates that renew all the time": {"certs.mode=certManager,certs.certManager.duration=24h,certs.certManager.renewBefore=24h0m", "certs.certManager.renewBefore: it has to be shorter"},
		"a certificate mode":                   {"certs.mode=cert-manager", "at '/certs/mode'"},
		"a delay without unit":                 {"shutdownDelay=10", "at '/shutdownDelay': got number, want string"},
		"a digest":                             {"image.digest=latest", "image.digest: "},
		"the kubelet's port":                   {"hostNetwork=true", "webhook.port: 10250 is the kubelet's"},
		"no Secret":                            {"certs.mode=external", "certs.external.secretName: "},
		"a Secret that is not used":            {"certs.external.secretName=tls", "certs.external: "},
		"an issuer without name":               {"certs.mode=certManager,certs.certManager.issuerRef.kind=ClusterIssuer", "certs.certManager.issuerRef: "},
		"one port for two":                     {"metrics.port=10250", "metrics.port: 10250 is in use"},
		"the port of the probes":               {"webhook.port=8081", "webhook.port: 8081"},
		"a monitor without metrics":            {"metrics.enabled=false,metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.enabled: "},
		"alerts without metrics":               {"metrics.enabled=false,metrics.prometheusRule.enabled=true", "metrics.prometheusRule.enabled: "},
		"a monitor without CRDs":               {"metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.enabled: the cluster has no monitoring.coreos.com/v1. Install the CRDs of prometheus-operator first"},
		"alerts without CRDs":                  {"metrics.prometheusRule.enabled=true", "metrics.prometheusRule.enabled: the cluster has no monitoring.coreos.com/v1"},
		"a regular expression, not RE2":        {"argocd.applicationNamespaces={/te[am/}", `argocd.applicationNamespaces[0]: "/te[am/" is not a regular expression`},
		"an exemption of all":                  {"webhook.exemptApplications[0].namespace=*,webhook.exemptApplications[0].name=*", "webhook.exemptApplications[0]: it exempts every Application"},
		"an exemption by a regular expression": {"webhook.exemptApplications[0].namespace=argocd,webhook.exemptApplications[0].name=/cni/", "webhook.exemptApplications[0].name: \"/cni/\" is not right; write a name or a glob"},
		"no replica in enforce mode":           {"config.mode=enforce,replicaCount=0", "replicaCount: with 0 replicas and failurePolicy Fail"},
		"no replica with Fail":                 {"webhook.failurePolicy=Fail,replicaCount=0", "replicaCount: with 0 replicas and failurePolicy Fail"},
		"no account":                           {"serviceAccount.create=false", "serviceAccount.name: with serviceAccount.create=false, name the service account"},
		"a field that the chart writes":        {"pod.tolerations[0].operator=Exists", "pod.tolerations: take it out"},
		"one of the container":                 {"container.livenessProbe.periodSeconds=1", "container.livenessProbe: take it out"},
		"one of the ServiceMonitor":            {"metrics.serviceMonitor.endpoint.port=https", "metrics.serviceMonitor.endpoint.port: take it out"},
		"a value that there was":               {"terminationGracePeriodSeconds=60", "additional properties 'terminationGracePeriodSeconds' not allowed"},
		"one that there was, deeper":           {"log.timeEncoding=epoch", "at '/log': additional properties 'timeEncoding' not allowed"},
		"the port of the UI's answers":         {"ui.enabled=true,ui.tokenSecret.name=a,metrics.port=8082", "metrics.port: 8082 is in use"},
		"actions without the UI":               {"ui.actions.enabled=true", "ui.actions.enabled: it needs ui.enabled"},
		"Secrets as evidence":                  {"config.verify.kinds={jobs.v1.batch,secrets.v1}", "config.verify.kinds: secrets.v1 hold secrets"},
		"a test where no pattern gates":        {"argocd.applicationNamespaces={a-*},test.namespace=c", "test.namespace: c is not one of argocd.applicationNamespaces"},
		"a test where nothing is gated":        {"argocd.applicationNamespaces={a,b},test.namespace=c", "test.namespace: c is not one of argocd.applicationNamespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := helm.Run(t.Context(), "template", "stepgate", helm.Chart, "--set="+tc.set)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// A replica that ends has the time to serve, and to finish its calls.
func TestTimeToDrain(t *testing.T) {
	for set, want := range map[string]string{
		"shutdownDelay=10s": "30", "shutdownDelay=40s": "47", "shutdownDelay=20s,webhook.timeoutSeconds=10": "35",
	} {
		g := NewWithT(t)
		text, err := helm.Run(t.Context(), "template", "stepgate", helm.Chart, "--set="+set)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text).To(ContainSubstring("terminationGracePeriodSeconds: "+want+"\n"), set)
	}
}

func TestArgoCDsNamespaceIsPermittedIfItIsMeant(t *testing.T) {
	_, err := helm.Run(t.Context(), "template", "stepgate", helm.Chart, "--namespace=argocd",
		"--set=argocd.shareNamespace=true")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestAnOldKubernetesIsRefused(t *testing.T) {
	_, err := helm.Run(t.Context(), "template", "stepgate", helm.Chart, "--kube-version=1.27.9")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("requires kubeVersion: >=1.28.0-0")))
}

// The schema knows exactly the values that values.yaml has: a key that is added to one must be added to the other.
func TestSchemaAndValuesAgree(t *testing.T) {
	g := NewWithT(t)
	var values map[string]any
	text, err := os.ReadFile(filepath.Join(helm.Chart, "values.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(text, &values)).To(Succeed())
	var schema map[string]any
	text, err = os.ReadFile(filepath.Join(helm.Chart, "values.schema.json"))
	g.Expect(err).NotTo(HaveOccurred())
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	g.Expect(decoder.Decode(&schema)).To(Succeed())
	g.Expect(missing(schema, values, "")).To(BeEmpty())
}

// missing are the keys of the schema that the values lack, and objects that would accept any key where values.yaml has
// keys. Of free-form values, whose schema has no properties, nothing is asked.
func missing(schema, values map[string]any, path string) []string {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return nil
	}
	var names []string
	maps.DeleteFunc(properties, func(_ string, inner any) bool { return inner.(map[string]any)["deprecated"] == true })
	if schema["additionalProperties"] != false && path != ".global" {
		names = append(names, path+" accepts any key")
	}
	for key, inner := range properties {
		value, present := values[key]
		if !present && path != ".certs.certManager.issuerRef" && path != ".webhook.namespaceSelector" {
			names = append(names, path+"."+key)
		}
		if object, ok := value.(map[string]any); ok {
			names = append(names, missing(inner.(map[string]any), object, path+"."+key)...)
		}
	}
	return names
}

// Where users of Argo CD may act, a policy restricts the account that acts for them. Without such policies, or with another
// account than the webhook knows, the chart refuses.
func TestActions(t *testing.T) {
	g := NewWithT(t)
	args := []string{"template", "stepgate", helm.Chart, "--namespace=gates",
		"--set=ui.enabled=true,ui.tokenSecret.name=a,ui.actions.enabled=true"}
	text, err := helm.Run(t.Context(), append(args, "--kube-version=1.36")...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(ContainSubstring("- --ui-act-token-file=/ui/act\n"), ContainSubstring("- key: act\n"),
		ContainSubstring("name: stepgate-actions\n"), ContainSubstring("policyName: stepgate-actions\n")))
	_, err = helm.Run(t.Context(), append(args, "--set=reporter.serviceAccount.name=another")...)
	g.Expect(err).To(MatchError(ContainSubstring("with ui.actions.enabled it has to be stepgate-reporter")))
	_, err = helm.Run(t.Context(), append(args, "--kube-version=1.28")...)
	g.Expect(err).To(MatchError(ContainSubstring("ui.actions.enabled: it needs ValidatingAdmissionPolicy " +
		"(Kubernetes 1.30)")))
}
