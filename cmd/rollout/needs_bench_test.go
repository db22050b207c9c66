// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook"
)

// BenchmarkJudge is a rollout of which all waits for step 1, of which nothing is done. Twice as many Applications take
// about twice as long.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{400, 800, 1600} {
		b.Run(fmt.Sprintf("%d Applications", 3*n), func(b *testing.B) {
			var scene []string
			for i := range n {
				scene = append(scene, fmt.Sprintf("1:dev-%d=Healthy/OutOfSync@new:Pending@new", i),
					fmt.Sprintf("2:qa-%d=Healthy/OutOfSync@new:Waiting@new", i),
					fmt.Sprintf("3:prod-%d=Healthy/OutOfSync@new:Waiting@new", i))
			}
			set, apps := with(strings.Join(scene, " "), nil)
			known := rollout.NewSnapshot()
			known.Add(set, apps...)
			preview := webhook.NewPreview(config, knownBy(known), nil)
			for b.Loop() {
				for _, set := range known.Sets() {
					if r := rollout.Judge(preview.Outlook(set)); len(r.Needs) < n {
						b.Fatalf("want a need for each of %d Applications, got %d", n, len(r.Needs))
					}
				}
			}
		})
	}
}
