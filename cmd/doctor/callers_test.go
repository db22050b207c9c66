// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/cmd/doctor"
)

const callers = running + "callers"

// strangers has stepgate keep maxUpdate, with these NetworkPolicies.
func strangers(policies ...networkingv1.NetworkPolicySpec) func(*testing.T, *world) {
	return func(_ *testing.T, w *world) {
		w.settings.Gate.MaxUpdate = true
		for i, spec := range policies {
			w.policies = append(w.policies, &networkingv1.NetworkPolicy{
				ObjectMeta: metav1.ObjectMeta{Namespace: "stepgate", Name: string(rune('a' + i))}, Spec: spec,
			})
		}
	}
}

// ingress is a NetworkPolicy of all Pods of the namespace with one rule.
func ingress(from []networkingv1.NetworkPolicyPeer, ports ...networkingv1.NetworkPolicyPort) networkingv1.NetworkPolicySpec {
	return networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: from, Ports: ports}}}
}

func cidr(text string) []networkingv1.NetworkPolicyPeer {
	return []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: text}}}
}

func port(of intstr.IntOrString) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Port: &of}
}

func callerRows() map[string]row {
	const takes = "can hold up the syncs of a step with a maxUpdate"
	everybody := []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}
	others := ingress(nil)
	others.PodSelector.MatchLabels = map[string]string{"app": "another"}
	egress := ingress(cidr("10.0.0.1/32"))
	egress.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	open := func(spec ...networkingv1.NetworkPolicySpec) row {
		return row{strangers(spec...), callers, doctor.Warning, takes, nil}
	}
	return map[string]row{
		"anybody may call":                          open(),
		"a NetworkPolicy of other Pods":             open(others),
		"a NetworkPolicy of what the Pods call":     open(egress),
		"a NetworkPolicy that opens all ports":      open(ingress(nil)),
		"a NetworkPolicy that opens the port":       open(ingress(nil, port(intstr.FromInt32(10250)))),
		"a NetworkPolicy that opens it by name":     open(ingress(nil, port(intstr.FromString("webhook")))),
		"a NetworkPolicy that opens it to all Pods": open(ingress(everybody)),
		"a NetworkPolicy of all addresses":          open(ingress(cidr("0.0.0.0/0"))),
		"one of two NetworkPolicies opens it":       open(ingress(cidr("10.0.0.1/32")), ingress(nil)),
		"Pods in the network of their node": {func(t *testing.T, w *world) {
			strangers(ingress(cidr("10.0.0.1/32")))(t, w)
			w.deployment.Spec.Template.Spec.HostNetwork = true
		}, callers, doctor.Warning, takes, nil},
		"you may not see NetworkPolicies": {func(t *testing.T, w *world) {
			strangers()(t, w)
			w.mayNot = func(_, r, user string) bool { return user == "" && r == "networkpolicies" }
		}, callers, doctor.Warning, "unless a NetworkPolicy forbids it", []string{": rights"}},
	}
}

// TestWhoMayCall is what is in order.
func TestWhoMayCall(t *testing.T) {
	metrics := intstr.FromString("metrics")
	for name, tc := range map[string]struct {
		change func(*testing.T, *world)
		result doctor.Result
		found  string
	}{
		"nothing is kept from others": {func(*testing.T, *world) {}, doctor.Skipped, "Without config.maxUpdate"},
		"callers have certificates": {func(t *testing.T, w *world) {
			strangers()(t, w)
			w.settings.ClientCA = true
		}, doctor.OK, "webhook.clientCA"},
		"a NetworkPolicy names the API server":      {strangers(ingress(cidr("10.0.0.1/32"))), doctor.OK, "A NetworkPolicy says"},
		"a NetworkPolicy opens another port to all": {strangers(ingress(nil, port(metrics))), doctor.OK, "A NetworkPolicy says"},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			tc.change(t, w)
			for _, c := range w.sources(t).Gather(t.Context()).Examine().Checks {
				if c.Name == "callers" {
					g.Expect(c.Result).To(Equal(tc.result))
					g.Expect(c.Found).To(ContainSubstring(tc.found))
					return
				}
			}
			t.Fatal("nobody has looked")
		})
	}
}
