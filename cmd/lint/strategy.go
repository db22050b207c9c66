// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/webhook/settings"
)

// strategy looks at the strategy as a whole.
//
// IsRollingSyncStrategy and IsDeletionOrderReversed of argo-cd v3.5.7,
// applicationset/progressivesync/progressive_sync.go, compare the type exactly, and the order of deletion without
// regard to case.
func (c *checker) strategy() {
	strategy := c.Set.Spec.Strategy
	if strategy == nil {
		return
	}
	path := to("spec", "strategy")
	given := strategy.RollingSync != nil
	switch {
	case strategy.Type == "RollingSync" && len(c.steps) == 0:
		c.found("no-steps", path.and("rollingSync", "steps"), "The type is RollingSync, and there are no steps.")
	case strategy.Type == "RollingSync" && len(c.steps) == 1:
		c.found("one-step", path.and("rollingSync", "steps"), "There is one step only, and nothing to put in order.")
	case strategy.Type == "RollingSync":
	case strategy.Type != "" && strategy.Type != "AllAtOnce":
		c.found("strategy-type", path.and("type"),
			fmt.Sprintf("The strategy type %q does not exist: it is not exactly RollingSync, and the steps are ignored.",
				short(strategy.Type)))
	case given:
		c.found("steps-ignored", path.and("rollingSync"),
			fmt.Sprintf("rollingSync is given, and ignored: the type is %s.", orEmpty(strategy.Type)))
	}
	order := strategy.DeletionOrder
	switch {
	case order == "":
	case !strings.EqualFold(order, "Reverse") && !strings.EqualFold(order, "AllAtOnce"):
		c.found("deletion-order", path.and("deletionOrder"),
			fmt.Sprintf("The deletionOrder %q does not exist: all Applications are deleted at once.", short(order)))
	case strings.EqualFold(order, "Reverse") && len(c.steps) == 0:
		c.found("deletion-order", path.and("deletionOrder"),
			"deletionOrder Reverse has no effect without RollingSync and steps.")
	}
}

// wishes are fields that other tools have for what an annotation of stepgate does.
var wishes = map[string]string{
	"minReadySeconds": settings.SoakAnnotation, "delaySeconds": settings.SoakAnnotation, "pause": settings.PauseAnnotation,
	"paused": settings.PauseAnnotation, "requiresApproval": settings.ApproveAnnotation,
	"parallelGroups": settings.TrackAnnotation,
}

// places are the fields of the strategy of Argo CD v3.5.7, and where each of them belongs.
var places = map[string]string{
	"type": "spec.strategy", "rollingSync": "spec.strategy", "deletionOrder": "spec.strategy",
	"steps": "spec.strategy.rollingSync", "maxUpdate": "a step", "matchExpressions": "a step",
	"key": "an entry of matchExpressions", "operator": "an entry of matchExpressions",
	"values": "an entry of matchExpressions",
}

// unknownFields reports the fields of the strategy that the API server would drop, and a strategy in another place.
func (c *checker) unknownFields() {
	for _, field := range c.unknown {
		if !render.OfStrategy(field) {
			continue
		}
		path := parsePath(field)
		name := fmt.Sprint(path[len(path)-1])
		if !strings.HasPrefix(field, "spec.strategy.") {
			c.found("strategy-misplaced", path, fmt.Sprintf("%q does not exist here, and the API server drops it: the "+
				"Applications are not put in order by it.", short(name)))
			continue
		}
		f := c.found("unknown-field", path, fmt.Sprintf("The field %q does not exist, and the API server drops it.",
			short(name)))
		like := render.Nearest(name, slices.Sorted(maps.Keys(places)))
		switch annotation, place := wishes[name], places[name]; {
		case annotation != "":
			f.Remedy = "Remove it; stepgate does this with the annotation " + annotation + "."
		case place != "":
			f.Message = fmt.Sprintf("The field %q does not exist here, and the API server drops it.", name)
			f.Remedy = fmt.Sprintf("Move it to %s, or remove it.", place)
		case like != "" && len(name) > 3:
			f.Remedy = fmt.Sprintf("Did you mean %s? Otherwise remove the field.", like)
		}
		selects := slices.Contains(selectors, name) || like == "matchExpressions"
		if at, is := path[len(path)-2].(int); is && selects && at < len(c.steps) && len(c.steps[at]) == 0 {
			// The rest follows from this, and would be said once for each Application.
			c.all[at], c.broken[at] = true, true
			f.Message = fmt.Sprintf("The field %q does not exist, and the API server drops it: step %d then selects every "+
				"Application.", short(name), at+1)
			f.Remedy = "Write matchExpressions: [{key: KEY, operator: In, values: [VALUE]}]."
		}
	}
}

// selectors are fields that other tools have for matchExpressions.
var selectors = []string{"matchLabels", "selector", "labelSelector", "expressions"}

func orEmpty(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}
