// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/policy"
)

// ApplicationSet is the part of an ApplicationSet that a decision needs: the rule's part, and the annotations that
// configure the gate.
type ApplicationSet struct {
	policy.ApplicationSet
	Annotations Annotations
	// Child is what it is to its parent; nil if it has none. Counts says what that means for its Applications.
	Child *Child
	// Deploys are the ApplicationSets of its own namespace that a parent deploys, by name, with their waves as 0-based steps;
	// WithSets looks at them. Nil for an ApplicationSet.
	Deploys map[string]int
	// Progressing says that its controller reports a rollout under way.
	Progressing bool
	// MaxUpdate has the maxUpdate of each 0-based step that has one, for AtOnce. The gate does not count, but what stepgate starts by
	// itself keeps to it.
	MaxUpdate map[int]*intstr.IntOrString
	// CreatesOnly says that its controller writes to no Application that is there, and so starts no sync. What the flags
	// of the controller say instead is not known.
	CreatesOnly bool
	// Labels are all its labels, and Subscriptions are the annotations that say who is told of its rollout. No decision
	// looks at them.
	Labels        map[string]string
	Subscriptions Annotations
}

// NewApplicationSet is Tracking.ApplicationSet by the zero Tracking.
func NewApplicationSet(set *argo.ApplicationSet) *ApplicationSet {
	return Tracking{}.ApplicationSet(set)
}

// ApplicationSet keeps the part of an ApplicationSet that a decision needs.
func (t Tracking) ApplicationSet(set *argo.ApplicationSet) *ApplicationSet {
	projected := &ApplicationSet{
		ApplicationSet: ruleOf(set), Annotations: ReadAnnotations(set.Annotations), Child: t.childOf(set),
		Labels: set.Labels, Subscriptions: readSubscriptions(set.Annotations),
		Progressing: is(set.Status.Conditions, argo.ApplicationSetConditionRolloutProgressing),
	}
	if policy := set.Spec.SyncPolicy; policy != nil && policy.ApplicationsSync != nil {
		projected.CreatesOnly = !policy.ApplicationsSync.AllowUpdate()
	}
	switch {
	case projected.RollingSync:
		projected.MaxUpdate = maxUpdate(set.Spec.Strategy.RollingSync.Steps)
	case projected.Waves:
		projected.MaxUpdate, _ = maxUpdateOfWaves(projected)
	}
	return projected
}

func maxUpdate(rollout []argo.ApplicationSetRolloutStep) map[int]*intstr.IntOrString {
	limits := make(map[int]*intstr.IntOrString, len(rollout))
	for i, r := range rollout {
		if r.MaxUpdate != nil {
			limits[i] = r.MaxUpdate
		}
	}
	return limits
}

// MostAtOnce is how many Applications of a step, of so many, Argo CD syncs at a time by its maxUpdate:
// UpdateApplicationSetApplicationStatusProgress of argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go. It
// rounds a percentage down, and counts every text but "0%" as 1 if that gives less, even one that is no percentage.
// Without a maxUpdate there is no limit.
func MostAtOnce(maxUpdate *intstr.IntOrString, applications int) (most int, limited bool) {
	if maxUpdate == nil {
		return 0, false
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(maxUpdate, applications, false)
	if err != nil {
		most = 0
	}
	if maxUpdate.Type == intstr.String && maxUpdate.StrVal != "0%" && most < 1 {
		most = 1
	}
	return max(most, 0), true
}

// ruleOf keeps the part of an ApplicationSet that the rule needs.
func ruleOf(set *argo.ApplicationSet) policy.ApplicationSet {
	projected := policy.ApplicationSet{
		Namespace: set.Namespace, Name: set.Name, UID: string(set.UID),
		Deleting: set.DeletionTimestamp != nil, Failing: failing(set.Status.Conditions),
	}
	projected.FailingStep = deniedStep(projected.Failing)
	projected.Generated = is(set.Status.Conditions, argo.ApplicationSetConditionResourcesUpToDate)
	projected.Keeps = keeps(set)
	// IsRollingSyncStrategy of argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go.
	if strategy := set.Spec.Strategy; strategy != nil && strategy.Type == "RollingSync" && strategy.RollingSync != nil {
		projected.RollingSync = true
		projected.Steps = steps(strategy.RollingSync.Steps)
	}
	projected.Waves = !projected.RollingSync && hasWaves(ReadAnnotations(set.Annotations))
	if !projected.Waves { // what is recorded there is of a strategy that it had before
		projected.Recorded = recorded(set.Status.ApplicationStatus)
	}
	return projected
}

// failing is the error that the ApplicationSet controller reports; empty if there is none.
func failing(conditions []argo.ApplicationSetCondition) string {
	for _, c := range conditions {
		if c.Type == argo.ApplicationSetConditionErrorOccurred && c.Status == argo.ApplicationSetConditionStatusTrue {
			return cmp.Or(c.Message, c.Reason, string(c.Type))
		}
	}
	return ""
}

// is reports whether the ApplicationSet controller says that a condition is true.
func is(conditions []argo.ApplicationSetCondition, condition argo.ApplicationSetConditionType) bool {
	return slices.ContainsFunc(conditions, func(c argo.ApplicationSetCondition) bool {
		return c.Type == condition && c.Status == argo.ApplicationSetConditionStatusTrue
	})
}

// keeps reports whether Applications may stay that are not generated any more. That the controller's own --policy keeps
// them is written nowhere. An Application without the finalizer (preserveResourcesOnDeletion) does not stay: only what it
// has deployed does.
func keeps(set *argo.ApplicationSet) bool {
	p := set.Spec.SyncPolicy
	return p != nil && p.ApplicationsSync != nil && !p.ApplicationsSync.AllowDelete() ||
		slices.ContainsFunc(set.Status.Conditions, func(c argo.ApplicationSetCondition) bool {
			return c.Type == argo.ApplicationSetConditionErrorOccurred &&
				c.Status == argo.ApplicationSetConditionStatusTrue &&
				c.Reason == argo.ApplicationSetReasonDeleteApplicationError
		})
}

// deniedHere finds the step in a denial of stepgate, as the API server gives it to the ApplicationSet controller.
var deniedHere = regexp.MustCompile(
	`admission webhook "[a-z]+\.stepgate\.io" denied the request: (step|wave) (-?\d+) of ApplicationSet `,
)

// deniedStep is the step, from 0, of the Application of which stepgate denied the write that an error is about; 0 for
// another error.
func deniedStep(failing string) int {
	denied := deniedHere.FindStringSubmatch(failing)
	if denied == nil {
		return 0
	}
	number, err := strconv.Atoi(denied[2])
	switch {
	case err != nil:
		return 0
	case denied[1] == "wave":
		return policy.WaveStep(number)
	}
	return max(0, number-1)
}

// recorded keeps the first entry where a name is listed twice, as Argo CD does.
func recorded(statuses []argo.ApplicationSetApplicationStatus) map[string]policy.Recorded {
	all := make(map[string]policy.Recorded, len(statuses))
	for _, status := range statuses {
		if _, listed := all[status.Application]; listed {
			continue
		}
		step, err := strconv.Atoi(status.Step)
		if err != nil {
			step = 0
		}
		all[status.Application] = policy.Recorded{
			Step: step, TransitionedAt: timeOf(status.LastTransitionTime),
			Pending:   status.Status == argo.ProgressiveSyncPending,
			Started:   status.Status == argo.ProgressiveSyncProgressing || status.Status == argo.ProgressiveSyncHealthy,
			Healthy:   status.Status == argo.ProgressiveSyncHealthy,
			Revisions: sharedTexts(status.TargetRevisions),
		}
	}
	return all
}

func steps(rollout []argo.ApplicationSetRolloutStep) []policy.Step {
	projected := make([]policy.Step, 0, len(rollout))
	for _, r := range rollout {
		step := policy.Step{}
		for _, e := range r.MatchExpressions {
			expression := policy.Expression{Key: shared(e.Key), Operator: e.Operator}
			for _, value := range e.Values {
				expression.Values = append(expression.Values, shared(value))
			}
			step = append(step, expression)
		}
		projected = append(projected, step)
	}
	return projected
}
