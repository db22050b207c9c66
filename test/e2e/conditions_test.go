// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

// conditions keeps every error that a watch of all ApplicationSets shows in their condition ErrorOccurred.
type conditions struct {
	mu sync.Mutex
	// errors are different texts, in the order in which they were seen, by NAMESPACE/NAME.
	errors  map[string][]string
	problem error
}

func recordConditions(ctx context.Context, config *rest.Config) (*conditions, error) {
	w, err := observer.Watch(ctx, config, &argo.ApplicationSetList{}, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	c := &conditions{errors: map[string][]string{}}
	go c.run(ctx, w)
	return c, nil
}

func (c *conditions) run(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for event := range w.ResultChan() {
		set, ok := event.Object.(*argo.ApplicationSet)
		if !ok {
			c.fail(fmt.Errorf("the watch of ApplicationSets ended: %v", event.Object))
			return
		}
		c.keep(set)
	}
	if ctx.Err() == nil {
		c.fail(errors.New("the watch of ApplicationSets ended"))
	}
}

func (c *conditions) keep(set *argo.ApplicationSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := set.Namespace + "/" + set.Name
	for _, condition := range set.Status.Conditions {
		shown := condition.Type == argo.ApplicationSetConditionErrorOccurred &&
			condition.Status == argo.ApplicationSetConditionStatusTrue
		if shown && !slices.Contains(c.errors[key], condition.Message) {
			c.errors[key] = append(c.errors[key], condition.Message)
		}
	}
}

func (c *conditions) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problem = err
}

// ofGate are the errors of an ApplicationSet that name a webhook of stepgate.
func (c *conditions) ofGate(namespace, name string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []string
	for _, text := range c.errors[namespace+"/"+name] {
		if fromGate(text) {
			found = append(found, text)
		}
	}
	return found, c.problem
}

// fromGate says that an error comes from a call of one of stepgate's webhooks, be it a refusal or a failed call.
func fromGate(text string) bool { return strings.Contains(text, ".stepgate.io") }
