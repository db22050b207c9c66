// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Sources are what the doctor asks.
type Sources struct {
	Kube kubernetes.Interface
	// Objects are Argo CD's.
	Objects client.Client
	// Warned makes a client of Argo CD's objects that hands over the API server's warnings.
	Warned func(rest.WarningHandler) (client.Client, error)
	// OfPod and OfURL get the certificates that a Pod or an address serves.
	OfPod func(ctx context.Context, namespace, pod string, port int32, host string) ([]*x509.Certificate, error)
	OfURL func(ctx context.Context, url string) ([]*x509.Certificate, error)
	// Parse understands the arguments of stepgate's Deployment.
	Parse func(*appsv1.Deployment) (*Flags, error)
	// Version is the version of this command line.
	Version string
	Now     func() time.Time
}

// Gather reads the cluster. It returns no error: what could not be read is in the Facts.
func (s *Sources) Gather(ctx context.Context) *Facts {
	f := s.GatherInstalled(ctx)
	f.Kubernetes, f.BetaPolicies = s.kubernetes(), s.betaPolicies()
	f.User = s.user(ctx)
	f.ArgoCDs = s.argoCDs(ctx)
	for i := range f.ApplicationSets.Value {
		f.Lint.AddLive(&f.ApplicationSets.Value[i])
	}
	f.Applications.Err = live.Applications(ctx, s.Objects, "", func(app *argo.Application) {
		f.Applications.Value = append(f.Applications.Value, argocd.NewProjection(app))
		f.Lint.AddLiveApplication(app)
	})
	f.Lint.Link()
	f.Rights = s.rights(ctx, f.rightsNeeded(), "")
	for _, r := range f.Installations {
		s.replicas(ctx, r)
		r.Served = s.served(ctx, r)
		r.Attempts = s.attempts(ctx, f, r)
		if r.Flags != nil && r.Flags.Ledger {
			r.Ledger = s.ledger(ctx, r, f.Now)
		}
		if r.Flags != nil {
			r.Rights = s.rights(ctx, neededByStepgate(r.Flags), r.serviceAccount())
		}
	}
	return f
}

// GatherInstalled reads only what is installed, and what it gates.
func (s *Sources) GatherInstalled(ctx context.Context) *Facts {
	f := &Facts{Now: s.Now(), Version: s.Version}
	f.Installations, f.Configurations, f.MutatingConfigurations = s.releases(ctx)
	for _, r := range f.Installations {
		s.deployment(ctx, r)
	}
	namespaces, err := s.Kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	f.Namespaces.Err = err
	if err == nil {
		f.Namespaces.Value = namespaces.Items
	}
	f.ApplicationSets.Err = live.ApplicationSets(ctx, s.Objects, "", func(set *argo.ApplicationSet) {
		f.ApplicationSets.Value = append(f.ApplicationSets.Value, *set)
	})
	slices.SortFunc(f.ApplicationSets.Value, func(a, b argo.ApplicationSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, r := range f.Installations {
		r.Application = s.applicationOf(ctx, f, r)
	}
	return f
}

func (s *Sources) kubernetes() Read[string] {
	v, err := s.Kube.Discovery().ServerVersion()
	if err != nil {
		return Read[string]{Err: err}
	}
	return Read[string]{Value: v.GitVersion}
}

func (s *Sources) user(ctx context.Context) Read[string] {
	review, err := s.Kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return Read[string]{Err: err}
	}
	return Read[string]{Value: review.Status.UserInfo.Username}
}

// releases finds the installations by the names of their webhooks.
func (s *Sources) releases(ctx context.Context) (all []*Installation, validatingErr, mutatingErr error) {
	validating, err := s.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err, nil
	}
	mutating, mutatingErr := s.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx,
		metav1.ListOptions{})
	byName := map[string]*Installation{}
	of := func(w *Registration) *Installation {
		if byName[w.Name] == nil {
			byName[w.Name] = &Installation{Name: w.Name, MutatingErr: mutatingErr}
		}
		return byName[w.Name]
	}
	for i := range validating.Items {
		if w := ofValidating(&validating.Items[i], ValidatingWebhook); w != nil {
			of(w).Validating = w
		}
	}
	if mutatingErr == nil {
		for i := range mutating.Items {
			if w := ofMutating(&mutating.Items[i], MutatingWebhook); w != nil {
				of(w).Mutating = w
			}
		}
	}
	for i := range validating.Items {
		if r := byName[validating.Items[i].Name]; r != nil {
			r.Approval = ofValidating(&validating.Items[i], ApprovalWebhook)
		}
	}
	if mutatingErr == nil {
		for i := range mutating.Items {
			if r := byName[mutating.Items[i].Name]; r != nil {
				r.Stamps = ofMutating(&mutating.Items[i], AnnotationsWebhook)
			}
		}
	}
	for _, r := range byName {
		r.locate()
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Installation) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil, mutatingErr
}

// The labels by which the chart tells to which release an object belongs.
const (
	instanceLabel = "app.kubernetes.io/instance"
	partOfLabel   = "app.kubernetes.io/part-of"
	componentKey  = "app.kubernetes.io/component"
)

// locate finds the Helm release, and the namespace, from a webhook.
func (r *Installation) locate() {
	w := r.registrations()[0]
	r.Helm = w.Labels[instanceLabel]
	r.Namespace = w.Annotations[helmNamespace]
	if service := w.Webhook.ClientConfig.Service; service != nil {
		r.Namespace = service.Namespace
	}
}

// deployment reads the Deployment of a release, and its arguments.
func (s *Sources) deployment(ctx context.Context, r *Installation) {
	list, err := s.Kube.AppsV1().Deployments(r.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: instanceLabel + "=" + r.helm() + "," + componentKey + "=webhook," + partOfLabel + "=stepgate",
	})
	if err != nil {
		r.Deployment.Err = err
		return
	}
	i := slices.IndexFunc(list.Items, func(d appsv1.Deployment) bool { return d.Name == r.Name })
	if i < 0 {
		r.Deployment.Err = errors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, r.Name)
		return
	}
	r.Deployment.Value = &list.Items[i]
	r.Namespace = list.Items[i].Namespace
	if settings, err := s.Parse(r.Deployment.Value); err == nil {
		r.Flags = settings
	}
}

// replicas reads the Pods of a release, and what belongs to them.
func (s *Sources) replicas(ctx context.Context, r *Installation) {
	if r.Deployment.Value != nil {
		selector := metav1.FormatLabelSelector(r.Deployment.Value.Spec.Selector)
		pods, err := s.Kube.CoreV1().Pods(r.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if r.Pods.Err = err; err == nil {
			r.Pods.Value = pods.Items
		}
		budgets, err := s.Kube.PolicyV1().PodDisruptionBudgets(r.Namespace).List(ctx, metav1.ListOptions{})
		if r.Budgets.Err = err; err == nil {
			r.Budgets.Value = budgets.Items
		}
	}
	if r.obeysStrangers() {
		policies, err := s.Kube.NetworkingV1().NetworkPolicies(r.Namespace).List(ctx, metav1.ListOptions{})
		if r.Policies.Err = err; err == nil {
			r.Policies.Value = policies.Items
		}
	}
	if service := r.registrations()[0].Webhook.ClientConfig.Service; service != nil {
		slices, err := s.Kube.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name,
		})
		if r.Slices.Err = err; err == nil {
			r.Slices.Value = slices.Items
		}
	}
}

// served gets the certificate of every replica.
func (s *Sources) served(ctx context.Context, r *Installation) (all Read[[]Served]) {
	w := r.registrations()[0]
	if url := w.Webhook.ClientConfig.URL; url != nil {
		chain, err := s.OfURL(ctx, *url)
		all.Value = append(all.Value, Served{By: w.host(), Chain: chain, Err: err})
		return all
	}
	if r.Pods.Err != nil || r.Deployment.Err != nil {
		all.Err = cmp.Or(r.Pods.Err, r.Deployment.Err)
		return all
	}
	for i := range r.Pods.Value {
		p := &r.Pods.Value[i]
		if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			continue
		}
		chain, err := s.OfPod(ctx, p.Namespace, p.Name, webhookPort(p), w.host())
		all.Value = append(all.Value, Served{By: "Pod " + p.Name, Chain: chain, Err: err})
	}
	return all
}

// webhookPort is the port of a Pod to which the chart's Service sends.
func webhookPort(p *corev1.Pod) int32 {
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == "webhook" {
				return port.ContainerPort
			}
		}
	}
	return 10250 // the chart's default
}
