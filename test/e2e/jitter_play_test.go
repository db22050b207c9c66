// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"math/rand/v2"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/script"
)

const (
	// jitter is webhook.refresh.jitter of argocd-cm, and jitterThreshold webhook.refresh.jitter.threshold, by default:
	// so many Applications are refreshed at once.
	jitter          = 30 * time.Second
	jitterThreshold = 10
)

// jitterPlays are commits of which Argo CD's git webhook tells each Application at another moment.
func jitterPlays() []gatedPlay {
	return []gatedPlay{{
		scenario: scenario{
			key: "jitter", title: "a commit for 60 Applications, refreshed within 30 s, as by `webhook.refresh.jitter`", each: 20, world: true,
			limit: 5 * time.Minute, setup: 10 * time.Minute, play: jittered,
		},
		gates: []mode{on, starting},
	}}
}

// jittered refreshes the members as HandleEvent of argo-cd v3.5.7 does, util/webhook/webhook.go: all but the first ones
// after a random time. They come as the lister of argocd-server gives them, which is any order.
func jittered(r *rollout) {
	r.begin()
	r.version("2", r.members)
	var group sync.WaitGroup
	random := rand.New(rand.NewPCG(1, uint64(len(r.members))))
	for n, i := range random.Perm(len(r.members)) {
		after := time.Duration(0)
		if n >= jitterThreshold {
			after = time.Duration(float64(jitter) * random.Float64())
		}
		group.Go(func() {
			r.pause(after)
			r.annotate(r.members[i], argo.AnnotationKeyRefresh, string(argo.RefreshTypeNormal))
		})
	}
	group.Wait()
	script.Must(r.ctx.Err())
}
