// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// comparison is a revision, and when an Application was compared with it.
type comparison struct {
	revision string
	at       time.Time
}

// newest finds for each source the revision of the last comparison. Times order nothing for the gate, but here only a
// text depends on them.
func newest(owned []*argocd.Projection) map[string]comparison {
	last := map[string]comparison{}
	for _, p := range owned {
		if p.Application.SyncStatus == "Unknown" {
			continue // the comparison failed, and Argo CD may have written the name of the branch in place of a revision
		}
		for _, s := range p.Application.Compared {
			if at := p.Application.ReconciledAt; s.Revision != "" && at.After(last[s.Key].at) {
				last[s.Key] = comparison{s.Revision, at}
			}
		}
	}
	return last
}

// behind says with what an Application has to be compared yet; empty if it is compared with the newest revisions.
func (j *judgment) behind(a *policy.Application) string {
	for _, s := range a.Compared {
		if last := j.newest[s.Key]; s.Revision != "" && s.Revision != last.revision && a.ReconciledAt.Before(last.at) {
			return "compared with " + policy.Short(s.Revision) + ", not " + policy.Short(last.revision)
		}
	}
	return ""
}
