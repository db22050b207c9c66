// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// StartedByArgoCD reports whether there is somebody in Argo CD who starts the syncs of an Application, and somebody who
// runs them: auto-sync, or the ApplicationSet controller, which records whose syncs it starts. Where neither does, as
// where somebody has switched automated sync off, it is for a person to start them.
func StartedByArgoCD(p *argocd.Projection, set *argocd.ApplicationSet) bool {
	_, recorded := set.Recorded[p.Name]
	return !p.Application.Reported && (p.AutoSync || recorded && !set.Waves && !set.CreatesOnly)
}

// StaysBack reports whether an Application has failed at a candidate, or somebody may have taken it back from that, and
// the ApplicationSet controller does not ask for it either.
func (o *Outlook) StaysBack(p *argocd.Projection, c *policy.Candidate) bool {
	return !o.Set.Recorded[p.Name].Pending && (HasFailed(p, c) || o.wentBack(p, c))
}

// HasFailed reports whether the last sync of an Application has failed at a candidate: Argo CD has tried that as often
// as its policy says, and nobody starts it again.
func HasFailed(p *argocd.Projection, c *policy.Candidate) bool {
	last := &p.Application.LastFull
	if last.Phase != "Failed" && last.Phase != "Error" || !last.SameSources {
		return false
	}
	return c.Compared && last.AtCompared || !c.Compared && slices.Equal(last.Other, c.Sources)
}

// wentBack reports whether somebody may have taken an Application back from a candidate: it has deployed it before, and
// something else since, or somebody has synced it by hand to something else, and nothing shows that the candidate came
// later. A short history does not have what it has deployed before. With auto-sync, Argo CD goes forward by itself.
func (o *Outlook) wentBack(p *argocd.Projection, c *policy.Candidate) bool {
	last := &p.Application.LastSync
	if last.SameSources && (!c.Compared || !last.AtCompared) &&
		!slices.ContainsFunc(c.Sources, func(s policy.Source) bool { return !slices.Contains(p.Application.Ran, s) }) {
		return true
	}
	return !p.AutoSync && !p.ByHand.IsZero() && !last.AtCompared && !o.cameLater(p, c)
}

// cameLater reports whether a candidate is shown to have come after an Application was last synced by hand. The
// ApplicationSet controller records when it has found an Application compared with another revision, or its spec
// changed: as Waiting, or as Healthy if it was Synced then. An older candidate has to be one that an earlier step has
// begun to sync since.
func (o *Outlook) cameLater(p *argocd.Projection, c *policy.Candidate) bool {
	if c.Compared {
		recorded := o.Set.Recorded[p.Name]
		return (recorded.Healthy || !recorded.Started) && recorded.TransitionedAt.After(p.ByHand)
	}
	return o.BegunSince(c, p.ByHand)
}

// BegunSince reports whether an earlier step has begun to sync a candidate since a time.
func (o *Outlook) BegunSince(c *policy.Candidate, since time.Time) bool {
	seen := o.judge.Histories.History(&o.Set.ApplicationSet, 0, 0)
	return slices.ContainsFunc(o.Input.Siblings, func(sibling policy.Sibling) bool {
		return 0 <= sibling.Step && sibling.Step < c.Step && slices.ContainsFunc(seen.Past(sibling.Name).Completions,
			func(done policy.Completion) bool {
				return done.OperatedAt.After(since) && !slices.ContainsFunc(c.Sources, func(s policy.Source) bool {
					return !slices.Contains(done.Sources, s)
				})
			})
	})
}
