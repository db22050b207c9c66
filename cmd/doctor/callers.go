// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/cmd/screen"
)

// callers says what somebody could do who calls the webhook and is not the API server.
func (r *Installation) callers() Check {
	const name = "callers"
	switch {
	case r.Deployment.Err != nil:
		return noDeployment(name, r.Deployment.Err)
	case r.Flags == nil:
		return r.unsettled(name)
	case r.Flags.ClientCA:
		return ok(name, "They need a certificate of webhook.clientCA.")
	case !r.obeysStrangers():
		return skipped(name, "Anybody who reaches the port may ask. Without config.maxUpdate no sync waits because of that.")
	case r.closed():
		return ok(name, "A NetworkPolicy says who reaches the port.")
	}
	unless := ""
	if r.Policies.Err != nil {
		unless = ", unless a NetworkPolicy forbids it: you may not see them"
	}
	return warning(name, "Anybody who reaches the port can hold up the syncs of a step with a maxUpdate: each request "+
		"about a made-up sync takes a slot for 10 s%s.", unless).
		do("Let only the API servers call, by a NetworkPolicy or by client certificates: " +
			screen.Page("docs/client-certificates.md"))
}

// obeysStrangers reports whether something other than an answer comes of a call, whoever has made it.
func (r *Installation) obeysStrangers() bool {
	return r.Flags != nil && !r.Flags.ClientCA && r.Flags.Gate.MaxUpdate
}

// closed reports whether NetworkPolicies select the Pods, and none of them opens the port of the webhook to everybody.
// They do not hold for Pods in the network of their node.
func (r *Installation) closed() bool {
	template := &r.Deployment.Value.Spec.Template
	port, selects := webhookPort(&corev1.Pod{Spec: template.Spec}), false
	if template.Spec.HostNetwork {
		return false
	}
	for i := range r.Policies.Value {
		p := &r.Policies.Value[i]
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		if err != nil || !selector.Matches(labels.Set(template.Labels)) ||
			len(p.Spec.PolicyTypes) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			continue
		}
		if selects = true; slices.ContainsFunc(p.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
			return isOf(rule.Ports, port) && isOfAll(rule.From)
		}) {
			return false
		}
	}
	return selects
}

// isOf reports whether a rule is of a port. One without ports is of all.
func isOf(ports []networkingv1.NetworkPolicyPort, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			return p.Port.StrVal == "webhook"
		case p.EndPort != nil:
			return p.Port.IntVal <= port && port <= *p.EndPort
		}
		return p.Port.IntVal == port
	})
}

// isOfAll reports whether a rule lets everybody in, or every Pod.
func isOfAll(from []networkingv1.NetworkPolicyPeer) bool {
	return len(from) == 0 || slices.ContainsFunc(from, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.IPBlock != nil {
			return p.IPBlock.CIDR == "0.0.0.0/0" || p.IPBlock.CIDR == "::/0"
		}
		return isEverything(p.NamespaceSelector) && (p.PodSelector == nil || isEverything(p.PodSelector))
	})
}

// isEverything reports whether a selector is there and selects everything.
func isEverything(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0
}
