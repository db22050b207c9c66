// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/stepgate/stepgate/webhook/record"
)

// Applicable says why a way cannot be applied here; nil means that it can.
func (w Way) Applicable() error {
	switch {
	case w.Hindrance != "":
		return errors.New(w.Hindrance)
	case w.Name == WayNamespace && len(w.namespaces) == 0:
		return errors.New("it is not known which namespaces are gated; name one with --namespace")
	case w.Name == WayWebhooks && len(w.releases) == 0 && !w.unread:
		return errors.New("stepgate has no webhook configuration: it is not in the way")
	}
	return nil
}

// Apply does what the commands of a way do. It tells each thing that it has done. It goes on after a failure with what
// does not depend on it, and returns all failures.
func (w Way) Apply(ctx context.Context, kube kubernetes.Interface, did func(string)) error {
	var failures []error
	for _, n := range w.namespaces {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, record.IgnoreLabel)
		if _, err := kube.CoreV1().Namespaces().Patch(ctx, n, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			failures = append(failures, fmt.Errorf("label namespace %s: %w", n, err))
			continue
		}
		did(fmt.Sprintf("namespace/%s labelled: within seconds, nothing is gated there", n))
	}
	names := w.releases
	if w.Name == WayWebhooks && len(names) == 0 {
		var err error
		names, err = byLabel(ctx, kube)
		failures = append(failures, err)
	}
	for _, name := range names {
		failures = append(failures, remove(ctx, kube, name, did))
	}
	return errors.Join(failures...)
}

// byLabel are the names of the validating configurations that the chart's label selects. Somebody who may not list
// them may still delete the one with the usual name.
func byLabel(ctx context.Context, kube kubernetes.Interface) ([]string, error) {
	list, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx,
		metav1.ListOptions{LabelSelector: ownSelector})
	if err != nil {
		return []string{usualRelease}, fmt.Errorf("list the configurations with the label %s: %w", ownSelector, err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// remove deletes both configurations, the validating one first: alone, it would deny every sync that is not pinned.
func remove(ctx context.Context, kube kubernetes.Interface, name string, did func(string)) error {
	admission := kube.AdmissionregistrationV1()
	err := admission.ValidatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ValidatingWebhookConfiguration %s: %w", name, err)
	}
	if err == nil {
		did(fmt.Sprintf("validatingwebhookconfiguration/%s deleted: nothing is refused any more", name))
	}
	err = admission.MutatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete MutatingWebhookConfiguration %s: %w", name, err)
	}
	if err == nil {
		did(fmt.Sprintf("mutatingwebhookconfiguration/%s deleted: nothing is pinned or held any more", name))
	}
	return nil
}
