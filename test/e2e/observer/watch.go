// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchFor is longer than a run. By default the API server ends a watch after 30 to 60 minutes.
const watchFor = 6 * time.Hour

// Watch watches all objects of a kind in a namespace, or in all if it is empty. It has to begin before there are any.
// Where the API server ends the watch, because a busy machine reads it too slowly, it goes on from the last event. An
// object of another type means that events were lost, and that the watch has ended.
func Watch(
	ctx context.Context, config *rest.Config, list client.ObjectList, namespace string,
) (watch.Interface, error) {
	scheme := runtime.NewScheme()
	if err := argo.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list %T: %w", list, err)
	}
	return watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.TimeoutSeconds = new(int64(watchFor.Seconds()))
			return c.Watch(ctx, list, &client.ListOptions{Namespace: namespace, Raw: &o})
		},
	})
}
