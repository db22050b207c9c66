// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	// readEvery is how often a Watch reads. That is two GETs, and one LIST from the API server's cache or a GET for each
	// namespace with a name. It needs no right to watch, and a right that it lacks shows at once.
	readEvery = 10 * time.Second
	// readTime bounds one reading.
	readTime = 10 * time.Second
)

// Watch reads again and again whether the gate of one installation answers.
type Watch struct {
	clientset  kubernetes.Interface
	name       types.NamespacedName
	namespaces []string

	facts   atomic.Pointer[Facts]
	first   chan struct{}
	once    sync.Once
	changed []func()
}

// NewWatch returns a Watch of the installation with this name. namespaces are those that it gates; an empty name stands
// for all.
func NewWatch(clientset kubernetes.Interface, name types.NamespacedName, namespaces []string) *Watch {
	w := &Watch{clientset: clientset, name: name, namespaces: namespaces, first: make(chan struct{})}
	w.facts.Store(&Facts{})
	return w
}

// OnChange has a function called after a reading by which the gate of a namespace answers otherwise than before. Call it
// before Run.
func (w *Watch) OnChange(f func()) { w.changed = append(w.changed, f) }

// Of says whether the gate answers for a namespace, as last read. Before the first reading, nothing is known.
func (w *Watch) Of(namespace string) settings.Presence { return w.facts.Load().ofOne(namespace) }

// ofOne is Of where only one installation was read.
func (f *Facts) ofOne(namespace string) settings.Presence {
	var own *appsv1.Deployment
	if len(f.Deployments) > 0 {
		own = &f.Deployments[0]
	}
	return f.Of(namespace, own)
}

// Wait returns after the first reading, or when ctx is done.
func (w *Watch) Wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-w.first:
	}
}

// Run reads until ctx is done.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	said := ""
	for {
		problem := ""
		if err := w.read(ctx); err != nil {
			problem = err.Error()
		}
		if problem != said && ctx.Err() == nil {
			text := "whether the gate answers cannot be read"
			if problem == "" {
				text = "whether the gate answers can be read again"
			}
			logr.FromContextOrDiscard(ctx).Info(text, "problem", problem)
			said = problem
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// read reads once. What may not be read is not known. What cannot be read for another reason, such as an API server that
// does not answer, stays as it was.
func (w *Watch) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	defer w.once.Do(func() { close(w.first) })
	before, now := w.facts.Load(), &Facts{Labels: map[string]map[string]string{}}
	err := errors.Join(w.readWebhook(ctx, before, now), w.readDeployment(ctx, before, now))
	for _, namespace := range w.namespaces {
		err = errors.Join(err, w.readNamespace(ctx, namespace, before, now))
	}
	w.facts.Store(now)
	if differ(before, now) {
		for _, f := range w.changed {
			f()
		}
	}
	return err
}

// differ reports whether the gate of a namespace of which one of them has the labels answers otherwise.
func differ(before, now *Facts) bool {
	for _, labels := range []map[string]map[string]string{before.Labels, now.Labels} {
		for namespace := range labels {
			if before.ofOne(namespace) != now.ofOne(namespace) {
				return true
			}
		}
	}
	return before.ofOne("") != now.ofOne("") // of those of which nobody has them
}

func (w *Watch) readWebhook(ctx context.Context, before, now *Facts) error {
	c, err := w.clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, w.name.Name,
		metav1.GetOptions{})
	switch {
	case err == nil:
		now.Registered = true
		now.register(c)
	case isGone(err):
		now.Registered = true
		return nil
	case !apierrors.IsForbidden(err):
		now.Registered, now.Webhooks = before.Registered, before.Webhooks
	}
	return err
}

func (w *Watch) readDeployment(ctx context.Context, before, now *Facts) error {
	d, err := w.clientset.AppsV1().Deployments(w.name.Namespace).Get(ctx, w.name.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		now.Deployed, now.Deployments = true, []appsv1.Deployment{*d}
	case isGone(err):
		now.Deployed = true
		return nil
	case !apierrors.IsForbidden(err):
		now.Deployed, now.Deployments = before.Deployed, before.Deployments
	}
	return err
}

// isGone reports whether the API server has said that an object does not exist. A 404 of something between is none.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// readNamespace reads the labels of one namespace, or of all.
func (w *Watch) readNamespace(ctx context.Context, namespace string, before, now *Facts) error {
	err := now.readLabels(ctx, w.clientset, namespace)
	switch {
	case err == nil || isGone(err) || apierrors.IsForbidden(err):
	case namespace != "":
		if set, known := before.Labels[namespace]; known {
			now.Labels[namespace] = set
		}
	default:
		now.Labels = before.Labels
	}
	return err
}
