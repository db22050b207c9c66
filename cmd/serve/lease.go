// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The times of a Lease, as the controllers of Kubernetes have them. What a replica that was killed did for all, nobody
// does for leaseDuration.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// Hostname names this replica: by its Pod, which keeps its name when its container starts again, and so its Leases. Every
// container runtime sets HOSTNAME; processes that share a machine differ only by that.
func Hostname() (string, error) {
	if name := os.Getenv("HOSTNAME"); name != "" {
		return name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("host name of this replica: %w", err)
	}
	return name, nil
}

// NewLock returns the Lease of what one replica does for all. identity names this replica.
func NewLock(c kubernetes.Interface, flag string, lease types.NamespacedName, identity string) (
	resourcelock.Interface, error,
) {
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, lease.Namespace, lease.Name, c.CoreV1(),
		c.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return lock, nil
}

// Lead calls started when this replica gets the Lease, and stopped when it loses it, again and again until ctx is done.
// It gives the Lease up then. The context of started ends with the Lease.
func Lead(
	ctx context.Context, lock resourcelock.Interface, name string, started func(context.Context), stopped func(),
) {
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
			ReleaseOnCancel: true, Name: name,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: started, OnStoppedLeading: stopped},
		})
	}
}
