// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"

	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// JudgeAlone tells what an Application waits for that no ApplicationSet controls, and that comes after others: as the
// rollout of an ApplicationSet without steps.
func JudgeAlone(preview *webhook.Preview, p *argocd.Projection) *Rollout {
	r := rolloutOf(preview.Outlook(argocd.Alone(p.Namespace, p.UID, p.Annotations)), p.Name)
	r.Name, r.Alone = p.Name, true
	return r
}

// Previews has a Preview for each namespace, which may have a gate of its own.
type Previews func(namespace string) *webhook.Preview

// Every tells where all rollouts are, by namespace and name: those of ApplicationSets with steps, and of what comes after
// others. With plain, those of other ApplicationSets, too.
func Every(of Previews, known Known, plain bool) []*Rollout {
	all := []*Rollout{}
	for _, set := range known.Sets() {
		if r := Judge(of(set.Namespace).Outlook(set)); plain || r.Phase != Ungated || len(r.After) > 0 {
			all = append(all, r)
		}
	}
	for _, p := range known.Alone() {
		all = append(all, JudgeAlone(of(p.Namespace), p))
	}
	slices.SortFunc(all, func(a, b *Rollout) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
