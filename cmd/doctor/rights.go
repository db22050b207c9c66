// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Right is a right as RBAC has it.
type Right struct {
	Verb, APIGroup, Resource, Subresource, Name, Namespace string
	// For says what it is good for.
	For string
}

// String is the right as a sentence has it: list deployments.apps in namespace stepgate.
func (r Right) String() string {
	text := r.Verb + " " + r.kind()
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

func (r Right) kind() string {
	kind := r.Resource
	if r.APIGroup != "" {
		kind += "." + r.APIGroup
	}
	if r.Subresource != "" {
		kind += "/" + r.Subresource
	}
	return kind
}

func (r Right) attributes() *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{
		Verb: r.Verb, Group: r.APIGroup, Resource: r.Resource, Subresource: r.Subresource, Name: r.Name,
		Namespace: r.Namespace, Version: "*",
	}
}

// RightRead is whether somebody has a right.
type RightRead struct {
	Right
	Allowed bool
	Err     error
}

const (
	argoGroup      = "argoproj.io"
	admissionGroup = "admissionregistration.k8s.io"
)

// neededByDoctor are the rights that all checks together need. None of them lets the doctor change anything but by
// --selftest and --apply: the writes of Applications are dry-runs.
func neededByDoctor() []Right {
	return []Right{
		{Verb: "list", APIGroup: admissionGroup, Resource: "validatingwebhookconfigurations", For: "to find stepgate"},
		{
			Verb: "list", APIGroup: admissionGroup, Resource: "mutatingwebhookconfigurations",
			For: "to see the mutating webhook",
		},
		{Verb: "list", Resource: "namespaces", For: "to see which are gated, and switched off"},
		{Verb: "list", APIGroup: argoGroup, Resource: "applicationsets", For: "to see what is gated, and switched off"},
		{Verb: "list", APIGroup: argoGroup, Resource: "applications", For: "to find one to try a sync with"},
		{Verb: "create", APIGroup: argoGroup, Resource: "applications", For: "for a server dry-run that must be refused"},
		{Verb: "patch", APIGroup: argoGroup, Resource: "applications", For: "for a server dry-run that must be pinned"},
		{Verb: "list", APIGroup: "apps", Resource: "deployments", For: "to see versions, accounts and arguments"},
		{Verb: "list", APIGroup: "apps", Resource: "statefulsets", For: "to see the application controller's account"},
		{Verb: "get", Resource: "configmaps", For: "to see Argo CD's settings"},
		{Verb: "list", Resource: "configmaps", For: "to see the ledger"},
		{Verb: "list", Resource: "pods", For: "to see the replicas"},
		{
			Verb: "create", Resource: "pods", Subresource: "portforward", For: "to see the certificate that each replica serves",
		},
		{
			Verb: "list", APIGroup: "discovery.k8s.io", Resource: "endpointslices",
			For: "to see whether the Service has endpoints",
		},
		{Verb: "list", APIGroup: "policy", Resource: "poddisruptionbudgets", For: "to see the disruption budget"},
		{Verb: "list", APIGroup: "networking.k8s.io", Resource: "networkpolicies", For: "to see who may call the webhook"},
		{
			Verb: "create", APIGroup: "authorization.k8s.io", Resource: "subjectaccessreviews",
			For: "to see stepgate's own rights",
		},
	}
}

// neededByLease are those of a replica that may lead.
func neededByLease(lease types.NamespacedName) []Right {
	all := []Right{{Verb: "create", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: lease.Namespace}}
	for _, verb := range []string{"get", "update"} {
		all = append(all, Right{
			Verb: verb, APIGroup: "coordination.k8s.io", Resource: "leases", Name: lease.Name, Namespace: lease.Namespace,
		})
	}
	return all
}

// neededByStepgate are the rights of a release's service account, as the chart's rbac.yaml has them.
func neededByStepgate(s *Flags) []Right {
	var all []Right
	for _, n := range s.watched() {
		for _, resource := range []string{"applications", "applicationsets"} {
			for _, verb := range []string{"get", "list", "watch"} {
				all = append(all, Right{Verb: verb, APIGroup: argoGroup, Resource: resource, Namespace: n})
			}
		}
		if s.Gate.Release {
			all = append(all, Right{Verb: "patch", APIGroup: argoGroup, Resource: "applications", Namespace: n})
		}
		all = append(all, Right{Verb: "create", APIGroup: "events.k8s.io", Resource: "events", Namespace: n})
	}
	verbs := []string{"get", "list", "watch"}
	if s.Projects != "" {
		for _, verb := range verbs {
			all = append(all, Right{Verb: verb, APIGroup: argoGroup, Resource: "appprojects", Namespace: s.Projects})
		}
	}
	if s.Barrier.Name != "" {
		all = append(all, Right{
			Verb: "patch", APIGroup: argoGroup, Resource: "applications", Name: s.Barrier.Name, Namespace: s.Barrier.Namespace,
		})
	}
	if s.Starts {
		all = append(all, neededByLease(s.Lease)...)
	}
	if s.Ledger {
		for _, verb := range []string{"list", "watch", "create", "update", "delete"} {
			all = append(all, Right{Verb: verb, Resource: "configmaps", Namespace: s.LedgerLease.Namespace})
		}
		all = append(all, neededByLease(s.LedgerLease)...)
	}
	if s.OwnCA {
		verbs = append(verbs, "patch")
	}
	for _, verb := range verbs {
		for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
			all = append(all, Right{Verb: verb, APIGroup: admissionGroup, Resource: resource, Name: s.Installation})
		}
	}
	if s.OwnCA {
		for _, verb := range []string{"get", "list", "watch", "update"} {
			all = append(all, Right{Verb: verb, Resource: "secrets", Name: s.CASecret.Name, Namespace: s.CASecret.Namespace})
		}
		all = append(all, Right{Verb: "create", Resource: "secrets", Namespace: s.CASecret.Namespace})
	}
	return all
}

// watched are the namespaces that stepgate watches: those that are named, or all ("").
func (s *Flags) watched() []string {
	if len(s.Namespaces) == 0 || namespaceCondition(s.Namespaces) != "" {
		return []string{""}
	}
	return s.Namespaces
}

// account says whether stepgate's service account has its rights.
func (r *Installation) account() Check {
	const name = "service account"
	switch {
	case r.Deployment.Err != nil:
		return noDeployment(name, r.Deployment.Err)
	case r.Flags == nil:
		return r.unsettled(name)
	}
	var lacks []string
	for _, right := range r.Rights {
		if right.Err != nil {
			return notRead(name, "the rights of "+r.serviceAccount(), right.Err)
		}
		if !right.Allowed {
			lacks = append(lacks, right.String())
		}
	}
	if len(lacks) > 0 {
		return problem(name, "%s may not %s.", r.serviceAccount(),
			list(lacks)).do("Install the chart again, with rbac.create=true.").by(r.upgrade("rbac.create=true"))
	}
	return ok(name, "It has all %d rights that it needs.", len(r.Rights))
}

// serviceAccount is the user name of its service account.
func (r *Installation) serviceAccount() string {
	account := "default"
	if d := r.Deployment.Value; d != nil && d.Spec.Template.Spec.ServiceAccountName != "" {
		account = d.Spec.Template.Spec.ServiceAccountName
	}
	return "system:serviceaccount:" + r.Namespace + ":" + account
}

// mine says which rights the person who asks lacks.
func (f *Facts) mine() Check {
	const name = "rights"
	var lacks []string
	var readable []Right
	for _, r := range f.Rights {
		if r.Err != nil {
			return notRead(name, "your rights", r.Err)
		}
		if !r.Allowed {
			lacks = append(lacks, r.String()+", "+r.For)
			if r.Verb == "list" || r.Verb == "get" {
				readable = append(readable, r.Right)
			}
		}
	}
	if len(lacks) == 0 {
		return ok(name, "You have all %d that the checks need.", len(f.Rights))
	}
	c := unknown(name, "You lack %d of the %d that the checks need. Checks that need one say so; the others are "+
		"complete. You may not", len(lacks), len(f.Rights))
	c.Details = lacks
	if len(readable) == 0 {
		return c.do("Ask somebody who has them to run this command.")
	}
	return c.do("Ask an administrator to give you those that only read:", f.grant(readable)...)
}

// grant are the commands that give rights to read.
func (f *Facts) grant(rights []Right) []string {
	var kinds []string
	for _, r := range rights {
		kinds = append(kinds, r.kind())
	}
	slices.Sort(kinds)
	user := f.User.Value
	if user == "" {
		user = "USER"
	}
	return []string{
		"kubectl create clusterrole stepgate-doctor --verb=get,list --resource=" + strings.Join(slices.Compact(kinds), ","),
		fmt.Sprintf("kubectl create clusterrolebinding stepgate-doctor --clusterrole=stepgate-doctor --user=%s", user),
	}
}
