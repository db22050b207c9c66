// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// installedSelector selects the Deployments of the chart.
const installedSelector = "app.kubernetes.io/part-of=stepgate,app.kubernetes.io/component=webhook"

// Read reads about all gates of a cluster, as far as it may. namespace is the only one to be asked about; empty for all.
// The error is about the Deployments, which also say how the gates are configured.
func Read(ctx context.Context, clientset kubernetes.Interface, namespace string) (*Facts, error) {
	f := &Facts{Labels: map[string]map[string]string{}}
	list, err := clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if f.Registered = err == nil; f.Registered {
		for i := range list.Items {
			f.register(&list.Items[i])
		}
	}
	_ = f.readLabels(ctx, clientset, namespace) // then they are not known
	deployments, err := clientset.AppsV1().Deployments("").List(ctx, metav1.ListOptions{LabelSelector: installedSelector})
	if f.Deployed = err == nil; f.Deployed {
		f.Deployments = deployments.Items
	}
	return f, err
}

// readLabels reads the labels of one namespace, or of all, which may be as old as the API server's cache.
func (f *Facts) readLabels(ctx context.Context, clientset kubernetes.Interface, namespace string) error {
	if namespace != "" {
		n, err := clientset.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err == nil {
			f.Labels[namespace] = n.Labels
		}
		return err
	}
	list, err := clientset.CoreV1().Namespaces().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for i := range list.Items {
		f.Labels[list.Items[i].Name] = list.Items[i].Labels
	}
	return nil
}
