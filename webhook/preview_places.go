package webhook

import (
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/places"
	"github.com/stepgate/stepgate/webhook/settings"
)

// LookForPlaces makes a Preview read the objects that keep the places of steps. Without them, and where they cannot be
// read, it goes by what the Applications show.
func (p *Preview) LookForPlaces(texts places.Texts) {
	p.places = places.NewView(p.known, texts, p.judge.Clock)
	p.gate.Places = p.places
}

// PlacesProblem says that the places of an ApplicationSet count by what its Applications show, because the object of
// them cannot be read; empty if it can, or need not be.
func (p *Preview) PlacesProblem(set *argocd.ApplicationSet) string {
	if !p.keepsPlaces(set) {
		return ""
	}
	err := p.places.Problem(set)
	if err == nil {
		return ""
	}
	return "the places of maxUpdate count by what the Applications show, and the gate may know of more, because its " +
		"ConfigMaps cannot be read: " + err.Error()
}

func (p *Preview) keepsPlaces(set *argocd.ApplicationSet) bool {
	return p.judge.Config.MaxUpdate && p.judge.Parser.Of(set).Mode == settings.Enforce
}

// room completes decisions about the syncs that are to come with the places of their steps.
func (p *Preview) room(set *argocd.ApplicationSet) func(*argocd.Projection, policy.Decision) policy.Decision {
	if !p.keepsPlaces(set) {
		return func(_ *argocd.Projection, d policy.Decision) policy.Decision { return d }
	}
	seen, s := p.places.Look(set), p.judge.Parser.Of(set)
	history := p.judge.Histories.History(&set.ApplicationSet, 0, 0)
	return func(app *argocd.Projection, d policy.Decision) policy.Decision {
		if d.Outcome != policy.Allow || d.Step < 0 || repairs(d, app.AutoSync) {
			return d
		}
		c := places.Claim{Set: set, Application: app.Name, UID: app.UID, Step: d.Step, Version: app.ResourceVersion}
		c = c.Within(&s.Settings, nil, app.Application.Labels, history.Past(app.Name))
		return d.Crowded(seen.Places(&c))
	}
}
