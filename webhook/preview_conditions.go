package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// Target is what the sync that an Application waits for is judged by, or would be if it waited for one: the same as for
// a Releaser.
func (p *Preview) Target(set *argocd.ApplicationSet, owned []*argocd.Projection, app *argocd.Projection) policy.Input {
	return p.judge.Waiting(p.Input(set, owned), app)
}

// Unmet are, by the name of the Application, the conditions that do not hold for each sync that Waiting judges.
func (p *Preview) Unmet(set *argocd.ApplicationSet, owned []*argocd.Projection) map[string][]policy.Decision {
	in, all := p.Input(set, owned), map[string][]policy.Decision{}
	p.eachWaiting(in, set, owned, func(app *argocd.Projection) []policy.Decision {
		return policy.Unmet(p.judge.Waiting(in, app))
	}, func(name string, d policy.Decision) { all[name] = append(all[name], d) })
	return all
}

// inputOf is what a write is judged from as a member of one of its ApplicationSets, "namespace/name".
func (p *Preview) inputOf(ctx context.Context, w *judge.Write, name string) policy.Input {
	for _, owner := range w.Owners {
		set, err := p.judge.Live.ApplicationSet(ctx, types.NamespacedName{Namespace: w.Namespace, Name: owner.Name})
		if err != nil || set == nil || set.UID != string(owner.UID) || set.Namespace+"/"+set.Name != name {
			continue
		}
		in := p.judge.Input(w, set, p.judge.Parser.OfWrite(set, w.Claim()))
		in.Seen = p.judge.Seen(w, &set.ApplicationSet)
		in.Siblings = judge.Placed(&set.ApplicationSet, p.known.Owned(types.UID(set.UID)))
		in.Peers = in.Siblings
		return in
	}
	return policy.Input{}
}
