// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// retries reports whether an Application waits for the next attempt of a sync that stepgate may end: it would start
// another one in its place.
func (r *Releaser) retries(p *argocd.Projection, set *argocd.ApplicationSet, s settings.Settings) bool {
	a := &p.Application
	return p.Retry != nil && r.starter != nil && s.Mode == settings.Enforce && set.Ordered() && !set.Deleting &&
		!a.Deleting && outlook.StartedByArgoCD(p, set) && a.SyncStatus == "OutOfSync"
}

// endRetries has a sync terminated that is tried again and again, if it has been overtaken: the rule lets the Application
// deploy something newer. Argo CD would go on with what has failed, and nobody starts anything else meanwhile.
func (r *Releaser) endRetries(l *look, p *argocd.Projection) {
	found, d := l.decide(l.gated(), p)
	if until := found.At.Sub(r.judge.Clock.Now()); until > 0 {
		l.lookAfter(until)
	}
	l.lookAfter(reconcileEvery)
	switch {
	case !r.overtaken(l, p, &found.Best) || l.StaysBack(p, &found.Best):
	case d.Outcome == policy.Allow:
		l.lookAfter(r.terminate(l, p, &found.Best))
	case d.Outcome == policy.Deny:
		r.haveCompared(l, p, &found, d)
	}
}

// overtaken reports whether a candidate is newer than what an Application tries again: it is compared with that by now,
// or an earlier step has begun to sync it since the first attempt.
func (r *Releaser) overtaken(l *look, p *argocd.Projection, c *policy.Candidate) bool {
	if c.Compared {
		return p.Content.Revised != "" && p.Content != p.Retry.Content
	}
	return !slices.Equal(c.Sources, p.Retry.Sources) && l.BegunSince(c, p.Application.LastOperation.StartedAt)
}

// terminate has a sync terminated, if this replica leads. It returns after how long to look again.
func (r *Releaser) terminate(l *look, p *argocd.Projection, c *policy.Candidate) (again time.Duration) {
	clock, key := r.judge.Clock.Now(), fmt.Sprint("terminate ", p.Name, p.Retry.Content)
	q := l.before.due[key]
	if q == nil {
		q = &due{since: clock}
	}
	l.now.due[key] = q
	if q.asked > 0 && q.since.Add(backoff(firstRestart, q.asked)).After(clock) {
		return q.since.Add(backoff(firstRestart, q.asked)).Sub(clock)
	}
	if !r.starter.Leads() {
		return reconcileEvery
	}
	r.starter.Start(Start{
		App: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, UID: p.UID, Set: l.Set.Name, Step: c.Step,
		ResourceVersion: p.ResourceVersion, Terminates: true, Until: clock.Add(startTimeout),
		Why: overtakes(l.Set, p.Retry, c),
	})
	l.now.due[key] = &due{since: clock, asked: q.asked + 1}
	return backoff(firstRestart, q.asked+1)
}

// overtakes says what takes the place of a sync that is tried again.
func overtakes(set *argocd.ApplicationSet, retry *argocd.Retry, c *policy.Candidate) string {
	before, now := policy.Revisions(retry.Sources), policy.Revisions(c.Sources)
	if before == now {
		now += ", with a spec that has changed"
	}
	return fmt.Sprintf("it was about to try %s again, and %s of %s may deploy %s", before,
		policy.StepName(c.Step), policy.Called(set.Namespace+"/"+set.Name), now)
}
