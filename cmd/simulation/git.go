// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"time"
)

// effect is what a commit does to an Application that deploys it.
type effect int

const (
	good  effect = iota // Healthy at once, as a ConfigMap is
	slow                // Progressing for a while, then Healthy
	bad                 // Progressing for a while, then Degraded
	fails               // the sync fails before anything is applied
	hook                // everything is applied and Healthy, and then a hook of the sync fails
)

var effects = map[string]effect{"good": good, "slow": slow, "bad": bad, "fails": fails, "hook": hook}

// git is what all repositories hold. A revision is a commit of the whole repository: which content each path has.
type git struct {
	branches map[string]*branch
	// trees are the contents of all paths at a revision.
	trees    map[string]map[string]int
	contents []effect
	// hashes gives revisions the names that git gives them.
	hashes bool
}

// branch is one branch of one repository: the revisions that it pointed to, one after the other.
type branch struct {
	id, url, name string
	states        []state
	// tried is a revision that is on no branch yet.
	tried string
	// cached is the state that the repo-server last resolved the branch to, and since when it remembers.
	cached   int
	cachedAt time.Duration
	// dry is the branch that this one is hydrated from, if it is.
	dry *branch
}

// state is a revision that a branch pointed to from a moment on.
type state struct {
	revision string
	landed   time.Duration
	// dry is the state of the dry branch that was hydrated, and values the parameter with which it was.
	dry    int
	values string
}

func (b *branch) head() int { return len(b.states) - 1 }

// stateOf is the last state with this revision that had landed at a moment, or the first that landed later; -1 when the
// branch never pointed to it.
func (b *branch) stateOf(revision string, at time.Duration) int {
	found := -1
	for i, s := range b.states {
		if s.revision == revision && (found < 0 || s.landed <= at) {
			found = i
		}
	}
	return found
}

// forget begins with no branch.
func (g *git) forget() {
	g.branches, g.trees, g.contents = map[string]*branch{}, map[string]map[string]int{}, []effect{good}
}

// branch returns the branch with an id such as "app" or "app@dev".
func (g *git) branch(id, url, name string) *branch {
	if b := g.branches[id]; b != nil {
		return b
	}
	b := &branch{id: id, url: url, name: name, cachedAt: -time.Hour}
	first := g.revision(id, 0)
	g.trees[first] = map[string]int{}
	b.states = []state{{revision: first, landed: -time.Hour}}
	g.branches[id] = b
	return b
}

// revision names a commit.
func (g *git) revision(id string, n int) string {
	name := fmt.Sprintf("%s.%d", id, n)
	if g.hashes {
		return fmt.Sprintf("%x", sha1.Sum([]byte(name)))
	}
	return name
}

// commit makes a revision in which these paths have a new content. It is on no branch yet.
func (g *git) commit(b *branch, parent string, paths []string, e effect) string {
	revision := g.revision(b.id, len(g.trees))
	tree := maps.Clone(g.trees[parent])
	for _, path := range paths {
		g.contents = append(g.contents, e)
		tree[path] = len(g.contents) - 1
	}
	g.trees[revision] = tree
	return revision
}

// push points the branch to a revision.
func (b *branch) push(revision string, now time.Duration) {
	b.states = append(b.states, state{revision: revision, landed: now})
}
