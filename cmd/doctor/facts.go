// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/lint"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Read is something that was read, or why it was not.
type Read[T any] struct {
	Value T
	Err   error
}

// Facts are everything that the checks look at.
type Facts struct {
	// Now is the time of all of it.
	Now time.Time
	// Version is the version of this command line, and Kubernetes the version of the API server.
	Version    string
	Kubernetes Read[string]
	// BetaPolicies is whether somebody has switched on the ValidatingAdmissionPolicies of Kubernetes 1.28 and 1.29.
	BetaPolicies bool
	// User is the name by which the API server knows the person who asks.
	User   Read[string]
	Rights []RightRead

	Installations []*Installation
	// Configurations is why the validating webhook configurations could not be listed, if they could not, and
	// MutatingConfigurations the same of the mutating ones.
	Configurations, MutatingConfigurations error

	Namespaces      Read[[]corev1.Namespace]
	ApplicationSets Read[[]argo.ApplicationSet]
	// Applications are what the gate keeps of them.
	Applications Read[[]*argocd.Projection]
	// Lint has both, as lint looks at them.
	Lint    lint.Input
	ArgoCDs Read[[]*ArgoCD]
	// SelfTest is the outcome of the selftest, if it was run.
	SelfTest *SelfTest
}

// SelfTest is the outcome of `stepgate selftest` in a namespace.
type SelfTest struct {
	Namespace, Passed string
	Err               error
}

// Installation is one installation of stepgate.
type Installation struct {
	// Name is the name of its webhook configurations and of its other objects; Helm is the name of the Helm release.
	Name, Helm string
	// Namespace is empty if it cannot be known.
	Namespace string
	// Application is the Application that installs it, as NAMESPACE_NAME, where only the Application itself says so.
	Application string
	// Validating and Mutating are its webhooks for Applications, nil where they do not exist.
	Validating, Mutating *Registration
	// Approval and Stamps are its webhooks for ApplicationSets, nil where they do not exist.
	Approval, Stamps *Registration
	// MutatingErr is why the mutating webhook configuration could not be read.
	MutatingErr error

	Deployment Read[*appsv1.Deployment]
	// Flags are the arguments of the Deployment; nil without a Deployment.
	Flags   *Flags
	Pods    Read[[]corev1.Pod]
	Slices  Read[[]discoveryv1.EndpointSlice]
	Budgets Read[[]policyv1.PodDisruptionBudget]
	// Ledger are the ConfigMaps of the ledger, if it keeps one.
	Ledger Read[[]LedgerPart]
	// Policies are read only if it matters who calls.
	Policies Read[[]networkingv1.NetworkPolicy]
	Rights   []RightRead
	Served   Read[[]Served]
	Attempts *Attempts
}

// registrations are the webhooks of a release that exist.
func (r *Installation) registrations() []*Registration {
	var all []*Registration
	for _, w := range []*Registration{r.Validating, r.Mutating} {
		if w != nil {
			all = append(all, w)
		}
	}
	return all
}

// Flags are the flags of `stepgate-webhook serve` that the checks compare with the cluster.
type Flags struct {
	Gate settings.Config
	// Namespaces is --application-namespaces, and Gated says whether a namespace is one of them.
	Namespaces []string
	Gated      func(namespace string) bool
	// NamesOnly says that it watches each of these namespaces, and not all.
	NamesOnly bool
	// Barrier is the Application that it writes to prove what it knows; empty if there is none.
	Barrier types.NamespacedName
	// ClientCA says that callers of the webhook need a certificate.
	ClientCA bool
	// Starts says that it starts syncs, and Lease is the one of the replica that does.
	Starts bool
	Lease  types.NamespacedName
	// Ledger says that it keeps what Applications have completed, and LedgerLease is that of the replica that writes it.
	Ledger      bool
	LedgerLease types.NamespacedName
	// Projects is the namespace of the AppProjects that it watches; empty if it watches none.
	Projects string
	// OwnCA says that it has a CA of its own, and CASecret is its Secret.
	OwnCA    bool
	CASecret types.NamespacedName
	// Installation is the name of the configurations that it publishes its CA to.
	Installation string
}

// gated reports whether a release gates the Applications of a namespace, as far as its arguments are known.
func (r *Installation) gated(namespace string) bool {
	return r.Flags == nil || r.Flags.Gated(namespace)
}
