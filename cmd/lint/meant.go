// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// meantSteps looks for steps in a field of the strategy that does not exist, such as rollingUpdate. The API server drops
// it, which is reported; once its name is corrected, what is wrong with the steps counts. So they are looked at, too.
func (c *checker) meantSteps() {
	strategy := c.Set.Spec.Strategy
	if strategy == nil || strategy.RollingSync != nil || c.node == nil {
		return
	}
	node := c.node
	for _, field := range []string{"spec", "strategy"} {
		if node = render.Child(node, field); node == nil {
			return // an alias or a merge key brings it
		}
	}
	for _, field := range c.unknown {
		name, ofStrategy := strings.CutPrefix(field, "spec.strategy.")
		if !ofStrategy || strings.ContainsAny(name, ".[") {
			continue
		}
		var value any
		given := render.Child(node, name)
		if given == nil || render.Child(given, "steps") == nil || given.Decode(&value) != nil {
			continue
		}
		rollout := &argo.ApplicationSetRolloutStrategy{}
		if text, err := json.Marshal(value); err != nil || json.Unmarshal(text, rollout) != nil {
			continue
		}
		subject, set := *c.Subject, *c.Set
		set.Spec.Strategy = &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: rollout}
		subject.Set, c.Subject, c.meant = &set, &subject, name
		c.rule = argocd.NewApplicationSet(&set)
		c.steps = c.rule.Steps
		return
	}
}
