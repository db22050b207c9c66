// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

// environments are the steps of most scenarios, in their order.
var environments = [...]string{"dev", "qa", "prod"}

// member is one Application of a rollout and its expected state.
type member struct {
	name, env string
	step      int
	// source is where its manifests come from, and second a second source, if it has one.
	source
	second *source
	// destination is the namespace that it deploys to.
	destination string
	// spoke is the name of its Application for the Argo CD of another cluster, to which an agent brings it; empty if none
	// does.
	spoke string
	// line is the connection of its agent, if that may be cut.
	line *line
	// remote says that this namespace is in the second cluster.
	remote bool
	// version is the one that its ConfigMap should hold at the end.
	version string
	// project is its AppProject; empty is default.
	project string
	// leftover says that nobody prunes what is removed from its manifests.
	leftover bool
	// removed says that the generator does not generate it any more.
	removed bool
	changes []observer.State
	// contents are the sources of the last of them.
	contents [][]source
}

// populate makes the members and their repositories: one for all, or one each.
func (r *rollout) populate() {
	shared := r.repository("all")
	envs := r.scenario.environments()
	for step, env := range envs {
		for i := range r.scenario.each {
			name := r.name + "-" + env
			if r.scenario.each > 1 {
				// Against the order of the steps, because the controller goes by name.
				name = fmt.Sprintf("%s-%c-%s-%d", r.name, 'a'+rune(len(envs)-1-step), env, i+1)
			}
			m := r.newMember(name, step, shared)
			if r.scenario.ownRepos {
				m.repo = r.repository(m.name)
			}
			r.members = append(r.members, m)
		}
	}
	if r.scenario.layout != nil {
		r.scenario.layout(r)
	}
}

func (r *rollout) newMember(name string, step int, repo *argocd.Repository) *member {
	return &member{
		name: name, env: r.scenario.environments()[step], step: step, destination: r.mode.destination(), version: "1",
		source: source{repo: repo, path: name + "/one", branch: argocd.Main},
	}
}

func (r *rollout) repository(name string) *argocd.Repository {
	return script.Get(r.argo.NewRepository(string(r.mode) + "-" + r.name + "-" + name))
}

// in are the members of some environments, in the order of the environments.
func (r *rollout) in(envs ...string) []*member {
	var found []*member
	for _, env := range envs {
		for _, m := range r.members {
			if m.env == env && !m.removed {
				found = append(found, m)
			}
		}
	}
	return found
}

// one is the first member of an environment.
func (r *rollout) one(env string) *member { return r.in(env)[0] }
