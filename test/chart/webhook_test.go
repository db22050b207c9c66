// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stepgate/stepgate/webhook"
)

// rendered are the objects of the chart with some arguments of helm template.
func rendered(g *WithT, t *testing.T, args ...string) []*unstructured.Unstructured {
	t.Helper()
	text, err := helm.Run(t.Context(), append([]string{
		"template", "stepgate", helm.Chart, "--namespace=stepgate",
	}, args...)...)
	g.Expect(err).NotTo(HaveOccurred())
	return decode(g, text)
}

// The webhooks for Applications, and those for ApplicationSets, by their kind of configuration.
var (
	operationWebhooks = map[string]string{
		"ValidatingWebhookConfiguration": "operation.stepgate.io", "MutatingWebhookConfiguration": "hold.stepgate.io",
	}
	setWebhooks = map[string]string{
		"ValidatingWebhookConfiguration": "approval.stepgate.io", "MutatingWebhookConfiguration": "annotations.stepgate.io",
	}
)

// webhookOf is the webhook for Applications of a configuration; nil if it has none.
func webhookOf(
	g *WithT, objects []*unstructured.Unstructured, kind string,
) (configuration *unstructured.Unstructured, hook map[string]any) {
	return webhookNamed(g, objects, kind, operationWebhooks[kind])
}

func webhookNamed(
	g *WithT, objects []*unstructured.Unstructured, kind, name string,
) (configuration *unstructured.Unstructured, hook map[string]any) {
	for _, o := range objects {
		if o.GetKind() != kind {
			continue
		}
		hooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		g.Expect(err).NotTo(HaveOccurred())
		for _, hook := range hooks {
			if hook := hook.(map[string]any); hook["name"] == name {
				return o, hook
			}
		}
		return o, nil
	}
	return nil, nil
}

// With "*" a rule matches a write in any version as it is, and matchPolicy Equivalent converts nothing: conditions and
// validations then look for fields that another version may have elsewhere.
func TestEveryRuleNamesItsVersions(t *testing.T) {
	g, rules := NewWithT(t), 0
	var look func(of any)
	look = func(of any) {
		switch of := of.(type) {
		case []any:
			for _, one := range of {
				look(one)
			}
		case map[string]any:
			if versions, is := of["apiVersions"]; is {
				g.Expect(versions).NotTo(ContainElement("*"), "%v", of)
				rules++
			}
			for _, one := range of {
				look(one)
			}
		}
	}
	for _, o := range rendered(g, t, "--set=config.mode=enforce", "--set=start.enabled=true",
		"--set=config.maxUpdate=true", "--set=config.verify.kinds={analysisruns.v1alpha1.argoproj.io}", "--set=config.verify.create=true",
	) {
		look(o.Object)
	}
	g.Expect(rules).To(Equal(11), "four webhooks, and seven policies")
}

// The two configurations select the same writes, whatever the values are, and are called at the same server.
func TestBothWebhooksGetTheSameWrites(t *testing.T) {
	for name, file := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := rendered(g, t, "--values="+file, "--set=config.mode=enforce")
			validating, v := webhookOf(g, objects, "ValidatingWebhookConfiguration")
			mutating, m := webhookOf(g, objects, "MutatingWebhookConfiguration")
			g.Expect(mutating.GetName()).To(Equal(validating.GetName()))
			g.Expect(mutating.GetLabels()).To(Equal(validating.GetLabels()))
			g.Expect(mutating.GetAnnotations()).To(Equal(validating.GetAnnotations()), "inject-ca-from is one of them")
			g.Expect(m["name"]).To(Equal("hold.stepgate.io"))
			g.Expect(m["reinvocationPolicy"]).To(Equal("IfNeeded"))
			g.Expect(m["failurePolicy"]).To(Equal("Ignore"), "whatever webhook.failurePolicy is")
			g.Expect(m["timeoutSeconds"]).To(BeEquivalentTo(3))
			for _, own := range []string{"name", "reinvocationPolicy", "failurePolicy", "timeoutSeconds"} {
				delete(m, own)
				delete(v, own)
			}
			path, _, err := unstructured.NestedString(m, "clientConfig", "service", "path")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(path).To(Equal(webhook.MutatePath))
			g.Expect(unstructured.SetNestedField(m, webhook.ValidatePath, "clientConfig", "service", "path")).To(Succeed())
			g.Expect(m).To(Equal(v))
		})
	}
}

// The webhooks for ApplicationSets are there whatever the values are, at the same server and in the same namespaces as
// the others.
func TestTheWebhooksForApplicationSets(t *testing.T) {
	nested := func(hook map[string]any, path ...string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(hook, path...)
		return value
	}
	for name, file := range valueSets(t) {
		for _, mode := range []string{"audit", "enforce"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				g := NewWithT(t)
				objects := rendered(g, t, "--values="+file, "--set=config.mode="+mode)
				_, operation := webhookOf(g, objects, "ValidatingWebhookConfiguration")
				for kind, want := range map[string]struct {
					path, policy string
					seconds      int
					resources    []any
				}{
					"ValidatingWebhookConfiguration": {webhook.ValidateApplicationSetPath, "Fail", 5, []any{"applicationsets"}},
					"MutatingWebhookConfiguration":   {webhook.MutateApplicationSetPath, "Ignore", 3, []any{"applications", "applicationsets"}},
				} {
					_, hook := webhookNamed(g, objects, kind, setWebhooks[kind])
					g.Expect(hook).NotTo(BeNil(), kind)
					g.Expect(hook["failurePolicy"]).To(Equal(want.policy), "whatever webhook.failurePolicy and config.mode are")
					g.Expect(hook["timeoutSeconds"]).To(BeEquivalentTo(want.seconds))
					g.Expect(hook["sideEffects"]).To(Equal("None"))
					g.Expect(hook["namespaceSelector"]).To(Equal(operation["namespaceSelector"]))
					g.Expect(hook).NotTo(HaveKey("objectSelector"), "it is about operations")
					g.Expect(nested(hook, "clientConfig", "service", "path")).To(Equal(want.path))
					g.Expect(unstructured.SetNestedField(hook, webhook.ValidatePath, "clientConfig", "service", "path")).To(Succeed())
					g.Expect(hook["clientConfig"]).To(Equal(operation["clientConfig"]))
					rules := hook["rules"].([]any)
					g.Expect(rules).To(HaveLen(1))
					g.Expect(rules[0].(map[string]any)["resources"]).To(Equal(want.resources), "and no subresource")
				}
			})
		}
	}
}

// A pattern for the namespaces is a condition of every webhook, and the URL of each has its own path.
func TestEveryWebhookHasTheNamespacesAndTheURL(t *testing.T) {
	g := NewWithT(t)
	objects := rendered(g, t, "--set=config.mode=enforce,webhook.url=https://10.0.0.1:8443/validate",
		"--set-literal=argocd.applicationNamespaces[0]=team-*")
	paths := map[string]string{
		"operation.stepgate.io": webhook.ValidatePath, "hold.stepgate.io": webhook.MutatePath, "approval.stepgate.io": webhook.ValidateApplicationSetPath, "annotations.stepgate.io": webhook.MutateApplicationSetPath,
	}
	for _, names := range []map[string]string{operationWebhooks, setWebhooks} {
		for kind, name := range names {
			_, hook := webhookNamed(g, objects, kind, name)
			conditions := hook["matchConditions"].([]any)
			g.Expect(conditions[0]).To(Equal(map[string]any{
				"name": "gated-namespace", "expression": `request.namespace.matches("^team-.*$")`,
			}), name)
			g.Expect(hook["clientConfig"]).To(Equal(map[string]any{"url": "https://10.0.0.1:8443" + paths[name]}), name)
		}
	}
}

// The approvers are flags, as they are written.
func TestApprovers(t *testing.T) {
	g := NewWithT(t)
	for _, o := range rendered(g, t,
		"--set-json=approvals={\"users\":[\"alice\",\"CN=bob,O=\\\"ops\\\"\"],\"groups\":[\"oidc:sre\"],\"fourEyes\":true}") {
		if o.GetKind() == "Deployment" {
			g.Expect(argumentsOf(g, o, "spec", "template", "spec", "containers")).To(ContainElements(
				"--approver=alice", `--approver=CN=bob,O="ops"`, "--approver-group=oidc:sre", "--approve-four-eyes=true"))
		}
	}
}

// The webhook for operations is there whatever the mode is: an ApplicationSet may have another one.
func TestMutatingModes(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"enforce mode":                             {nil, "compared"},
		"candidate":                                {[]string{"--set=pin.mode=candidate"}, "candidate"},
		"holds nothing":                            {[]string{"--set=hold.enabled=false"}, "compared"},
		"audit mode":                               {[]string{"--set=config.mode=audit"}, "compared"},
		"audit mode, and candidate":                {[]string{"--set=config.mode=audit,pin.mode=candidate"}, "candidate"},
		"a URL has the path of its webhook":        {[]string{"--set=webhook.url=https://10.0.0.1:8443/validate"}, "compared"},
		"stepgate with a certificate of yours":     {[]string{"--set=certs.mode=external,certs.external.secretName=tls"}, "compared"},
		"without RBAC, somebody else sees to them": {[]string{"--set=rbac.create=false"}, "compared"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := rendered(g, t, append([]string{"--set=config.mode=enforce"}, tc.args...)...)
			_, hook := webhookOf(g, objects, "MutatingWebhookConfiguration")
			g.Expect(hook).NotTo(BeNil(), "the webhook")
			if url, found, _ := unstructured.NestedString(hook, "clientConfig", "url"); found {
				g.Expect(url).To(Equal("https://10.0.0.1:8443/mutate"))
			}
			for _, o := range objects {
				switch o.GetKind() {
				case "Deployment":
					args := argumentsOf(g, o, "spec", "template", "spec", "containers")
					g.Expect(args).To(ContainElement("--pin=" + tc.want))
				case "ClusterRole":
					text, err := o.MarshalJSON()
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(string(text)).To(ContainSubstring(`"mutatingwebhookconfigurations"`), "the rights")
				}
			}
		})
	}
}

// Without a decision of yours, stepgate rejects no sync and delays nobody for long.
func TestTheDefaultIsSafe(t *testing.T) {
	g := NewWithT(t)
	for mode, want := range map[string]struct {
		policy  string
		seconds int
	}{"": {"Ignore", 2}, "audit": {"Ignore", 2}, "enforce": {"Fail", 5}} {
		var args []string
		if mode != "" {
			args = []string{"--set=config.mode=" + mode}
		}
		objects := rendered(g, t, args...)
		_, hook := webhookOf(g, objects, "ValidatingWebhookConfiguration")
		g.Expect(hook["failurePolicy"]).To(Equal(want.policy), mode)
		g.Expect(hook["timeoutSeconds"]).To(BeEquivalentTo(want.seconds), mode)
		_, mutating := webhookOf(g, objects, "MutatingWebhookConfiguration")
		g.Expect(mutating["failurePolicy"]).To(Equal("Ignore"), mode)
	}
}

// The usual installations of Argo CD give the names of its accounts.
func TestAccountsOfArgoCD(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"the manifests, and argo-helm":   {nil, []string{"argocd:argocd-server", "argocd:argocd-applicationset-controller"}},
		"in another namespace":           {[]string{"--set=argocd.namespace=cd"}, []string{"cd:argocd-server", "cd:argocd-applicationset-controller"}},
		"OpenShift GitOps":               {[]string{"--set=argocd.installation=openshift-gitops"}, []string{"openshift-gitops:openshift-gitops-argocd-server", "openshift-gitops:openshift-gitops-applicationset-controller"}},
		"the operator":                   {[]string{"--set=argocd.installation=operator,argocd.namespace=team,argocd.instance=cd"}, []string{"team:cd-argocd-server", "team:cd-applicationset-controller"}},
		"names of your own, in part":     {[]string{"--set=argocd.serverAccounts={alice}"}, []string{"alice", "argocd:argocd-applicationset-controller"}},
		"names of your own, two of them": {[]string{"--set=argocd.applicationSetAccounts={a,b}"}, []string{"argocd:argocd-server", "a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, o := range rendered(g, t, tc.args...) {
				if o.GetKind() != "Deployment" {
					continue
				}
				var got []string
				for _, arg := range argumentsOf(g, o, "spec", "template", "spec", "containers") {
					if flag, account, _ := strings.Cut(arg, "="); strings.HasPrefix(flag, "--argocd-") &&
						strings.HasSuffix(flag, "-account") {
						got = append(got, strings.TrimPrefix(account, "system:serviceaccount:"))
					}
				}
				g.Expect(got).To(Equal(tc.want))
			}
		})
	}
}

// argumentsOf are the arguments of the first container.
func argumentsOf(g *WithT, o *unstructured.Unstructured, path ...string) []string {
	containers, _, err := unstructured.NestedSlice(o.Object, path...)
	g.Expect(err).NotTo(HaveOccurred())
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	g.Expect(err).NotTo(HaveOccurred())
	return args
}
