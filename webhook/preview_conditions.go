package webhook

import (
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Target is what the sync that an Application waits for is judged by, or would be if it waited for one: the same as for
// a Releaser.
func (p *Preview) Target(set *argocd.ApplicationSet, owned []*argocd.Projection, app *argocd.Projection) policy.Input {
	return p.toCome(p.Input(set, owned), app)
}

// toCome is the input of the sync that an Application waits for: to the best of its candidates.
func (p *Preview) toCome(in policy.Input, app *argocd.Projection) policy.Input {
	return deployingBest(p.judge.Waiting(in, app))
}

// deployingBest is the input of the best candidate of a target.
func deployingBest(in policy.Input) policy.Input {
	if !in.Settings.Train {
		return in
	}
	best, _ := policy.Best(policy.Candidates(in))
	return policy.Deploying(in, best)
}

// Unmet are, by the name of the Application, the conditions that do not hold for each sync that Waiting judges.
func (p *Preview) Unmet(set *argocd.ApplicationSet, owned []*argocd.Projection) map[string][]policy.Decision {
	base, all, alike := p.Input(set, owned), map[string][]policy.Decision{}, map[policy.Key][]policy.Decision{}
	for _, app := range toSync(set, owned) {
		in := p.judge.Waiting(base, app)
		key := policy.KeyOf(in)
		unmet, judged := alike[key]
		if !judged {
			unmet = policy.Unmet(deployingBest(in))
			alike[key] = unmet
		}
		for _, d := range unmet {
			all[app.Name] = append(all[app.Name], d.For(app.Name))
		}
	}
	return all
}
