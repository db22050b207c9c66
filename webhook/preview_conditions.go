package webhook

import (
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Target is what the sync that an Application waits for is judged by, or would be if it waited for one: the same as for
// a Releaser.
func (p *Preview) Target(set *argocd.ApplicationSet, owned []*argocd.Projection, app *argocd.Projection) policy.Input {
	in, _ := p.judge.Waiting(p.Input(set, owned), app)
	return in
}

// Unmet are, by the name of the Application, the conditions that do not hold for each sync that Waiting judges.
func (p *Preview) Unmet(set *argocd.ApplicationSet, owned []*argocd.Projection) map[string][]policy.Decision {
	in, all := p.Input(set, owned), map[string][]policy.Decision{}
	p.eachWaiting(in, set, owned, func(app *argocd.Projection) []policy.Decision {
		waiting, _ := p.judge.Waiting(in, app)
		return policy.Unmet(waiting)
	}, func(name string, d policy.Decision) { all[name] = append(all[name], d) })
	return all
}
