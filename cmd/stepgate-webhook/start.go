// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/start"
)

// account asks the API server for the user name of stepgate itself.
func account(ctx context.Context, c kubernetes.Interface) (string, error) {
	review, err := c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("--start: the API server does not say which user stepgate is: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// starts is what --start runs.
type starts struct {
	queue *start.Queue
	lock  resourcelock.Interface
	// look has every ApplicationSet looked at.
	look func()
}

// newStarts returns starts of the replica that holds the Lease. identity names this replica. The writes have a client
// of their own, of which they hear the warnings.
func newStarts(
	c *kube.Cluster, observe start.Observer, lease types.NamespacedName, identity string, look func(),
) (*starts, error) {
	config := rest.CopyConfig(c.Config)
	config.WarningHandlerWithContext = start.Warnings{}
	objects, err := kube.Objects(config)
	if err != nil {
		return nil, err
	}
	lock, err := serve.NewLock(c.Clientset, "--start", lease, identity)
	if err != nil {
		return nil, err
	}
	return &starts{queue: start.NewQueue(start.NewOperations(objects), observe), lock: lock, look: look}, nil
}

// run starts syncs while this replica holds the Lease, until ctx is done. It gives the Lease up then.
func (s *starts) run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	go s.queue.Run(ctx)
	serve.Lead(ctx, s.lock, "start", func(context.Context) {
		log.Info("this replica starts the syncs that are due")
		s.queue.Lead(true)
		s.look()
	}, func() {
		s.queue.Lead(false)
		log.Info("this replica starts no syncs")
	})
}
