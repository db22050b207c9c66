package rollout

import "github.com/stepgate/stepgate/policy"

// Urgency says who has to do something about it.
func (r *Rollout) Urgency() Urgency {
	switch {
	case len(r.Needs) > 0 && r.Needs[0].Actor == string(policy.You):
		return NeedsYou
	case r.Phase == Complete, r.Phase == Ungated && len(r.Needs) == 0:
		return Finished
	case len(r.Needs) > 0 && r.Needs[0].Actor == string(policy.Time):
		return WaitsByItself
	}
	return AtWork
}
