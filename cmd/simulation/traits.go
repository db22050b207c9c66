// SPDX-License-Identifier: Apache-2.0

package simulation

import "time"

// traits are how a version of Argo CD differs, as far as the model knows.
//
//	3.2  The ApplicationSet controller has another status machine (legacy.go): a step opens when the one before it is Healthy,
//	     whatever those before that are; an Application that is OutOfSync is synced again, also after a failure or drift. It does
//	     not write what it has written itself into its cache. After every operation the revision is resolved anew. Not
//	     modelled: that missing resources lower the health, and the order in which it writes Applications.
//	3.4  as 3.5. Nothing that the model has differs.
//	3.5  as upstream's manager is.
//	3.6  The ApplicationSet controller names the recorded revisions in its operations, waits for the Applications to be compared
//	     (barrier.go), records the time of each change of an Application that is Waiting already, and tries again at once after a
//	     failure (here every 50 ms, in truth every millisecond: pkg/ratelimiter/ratelimiter.go:77-97, v3.6.1). The application
//	     controller does not overlook requests for refreshes. Not modelled: the timestamp of a request for a refresh, and that
//	     an operation under way is looked at less often.
type traits struct {
	legacy bool
	// writesBack says that the ApplicationSet controller's own writes are in its cache at once.
	writesBack bool
	// pins says that the ApplicationSet controller names the recorded revisions in its operations.
	pins    bool
	barrier bool
	// retry is when a failed Reconcile is tried again, from the number of failures.
	retry func(failures int) time.Duration
	// overlooks says that the application controller may put an older copy of an Application over a newer one in its
	// cache.
	overlooks bool
	// afterAutomated is how revisions are resolved in the comparison after an automated operation.
	afterAutomated level
}

func traitsOf(version string) traits {
	t := traits{writesBack: true, overlooks: true, retry: backOff, afterAutomated: latest}
	switch version {
	case "3.2":
		t.legacy, t.writesBack, t.afterAutomated = true, false, forceResolve
	case "3.6":
		t.pins, t.barrier, t.overlooks = true, true, false
		t.retry = func(int) time.Duration { return 50 * time.Millisecond }
	}
	return t
}

// backOff is the default limiter of controller-runtime's work queue: 5 ms, doubled with every failure, to 1000 s.
func backOff(failures int) time.Duration {
	return min(5*time.Millisecond<<min(failures, 20), 1000*time.Second)
}
