// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

// repository is the one of a name, which is created when it is first asked for; the parent's has no name.
func (p *wavesPlayed) repository(name string) *argocd.Repository {
	if p.repos[name] == nil {
		p.repos[name] = script.Get(p.argo.NewRepository(fmt.Sprintf("%s-%s-%s", p.mode, p.parent, name)))
	}
	return p.repos[name]
}

// stage has the next commit to a repository bring files.
func (p *wavesPlayed) stage(repo string, changed files) {
	if p.staged[repo] == nil {
		p.staged[repo] = files{}
	}
	maps.Copy(p.staged[repo], changed)
}

// stageChild has the next commit bring a child's manifest.
func (p *wavesPlayed) stageChild(c *child) {
	if c.set == "" {
		p.stage("", files{c.manifestFile(): p.manifest(p.mode, c, p.repository(c.repo).URL)})
		return
	}
	var all []*child
	for _, other := range p.inGit() {
		if other.set == c.set {
			all = append(all, other)
		}
	}
	p.stage("", files{"apps/" + p.setName(c) + ".yaml": p.setManifest(p.mode, all, p.repository(c.repo).URL)})
}

// stageVersion has the next commit give children a new version of their content, Healthy but for some.
func (p *wavesPlayed) stageVersion(children []*child, degraded ...*child) {
	p.versions++
	for _, c := range children {
		c.version, c.health = fmt.Sprint(p.versions), "Healthy"
		if slices.Contains(degraded, c) {
			c.health = "Degraded"
		}
		p.stage(c.repo, c.content())
	}
}

// stageRemoval has the next commit remove a child and its content.
func (p *wavesPlayed) stageRemoval(c *child) {
	c.removed = true
	p.stage("", files{c.manifestFile(): ""})
	for path := range c.content() {
		p.stage(c.repo, files{path: ""})
	}
}

// commit commits what is staged, to each repository, and makes that one change.
func (p *wavesPlayed) commit() {
	for _, name := range slices.Sorted(maps.Keys(p.staged)) {
		p.heads[name] = script.Get(p.repository(name).Commit(argocd.Main, p.staged[name]))
	}
	clear(p.staged)
	p.changedAt = append(p.changedAt, time.Now())
	for _, c := range p.inGit() {
		for len(c.changes) < len(p.changedAt)-1 { // git did not have it then
			c.touched, c.trees = append(c.touched, false), append(c.trees, "")
			c.changes = append(c.changes, observer.State{Revision: "none"})
		}
		head := p.heads[c.repo]
		tree := p.repository(c.repo).Tree(head, c.folder())
		if c.chart {
			tree += " " + p.repository(c.repo).Tree(head, sharedChart)
		}
		c.touched = append(c.touched, len(c.trees) == 0 || c.trees[len(c.trees)-1] != tree)
		c.changes = append(c.changes, observer.State{Revision: head, Path: c.path(), Destination: p.mode.destination()})
		c.trees = append(c.trees, tree)
	}
}

// touched are the children whose content in git has changed since a change, with that one.
func (p *wavesPlayed) touched(since int) (all []*child) {
	for _, c := range p.inGit() {
		if slices.Contains(c.touched[min(since, len(c.touched)):], true) {
			all = append(all, c)
		}
	}
	return all
}

// inGit are the children that git has, in the order in which they have to go.
func (p *wavesPlayed) inGit() (all []*child) {
	for i := range p.children {
		if c := &p.children[i]; !c.removed {
			all = append(all, c)
		}
	}
	return all
}

// one is the child of a name.
func (p *wavesPlayed) one(name string) *child {
	i := slices.IndexFunc(p.children, func(c child) bool { return c.name == name })
	if i < 0 {
		script.Fail("no child is named %s", name)
	}
	return &p.children[i]
}
