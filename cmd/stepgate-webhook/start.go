package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook/start"
)

// The times of the Lease, as the controllers of Kubernetes have them. A replica that was killed starts nothing, and nor
// do the others, for leaseDuration.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
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
	c *kube.Cluster, metrics start.Observer, lease types.NamespacedName, identity string, look func(),
) (*starts, error) {
	config := rest.CopyConfig(c.Config)
	config.WarningHandlerWithContext = start.Warnings{}
	objects, err := kube.Objects(config)
	if err != nil {
		return nil, err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, lease.Namespace, lease.Name, c.Clientset.CoreV1(),
		c.Clientset.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return nil, fmt.Errorf("--start-lease: %w", err)
	}
	return &starts{queue: start.NewQueue(start.NewOperations(objects), metrics), lock: lock, look: look}, nil
}

// run starts syncs while this replica holds the Lease, until ctx is done. It gives the Lease up then.
func (s *starts) run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	go s.queue.Run(ctx)
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: s.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
			ReleaseOnCancel: true, Name: "start",
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					log.Info("this replica starts the syncs that are due")
					s.queue.Lead(true)
					s.look()
				},
				OnStoppedLeading: func() {
					s.queue.Lead(false)
					log.Info("this replica starts no syncs")
				},
			},
		})
	}
}
