// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

// wavesPlayed is a family as it is played in one namespace. Its methods are steps of a script.
type wavesPlayed struct {
	*suite
	waveFamily
	ctx  context.Context
	mode mode

	// repos, their newest commits, and what the next ones bring, are by name; the repository of the parent has none.
	repos  map[string]*argocd.Repository
	heads  map[string]string
	staged map[string]files
	// versions counts the versions of the children's content, and changedAt is when each change was made.
	versions  int
	changedAt []time.Time
	// since is the resourceVersion from which on starts count, and first the first change of what is played.
	since        uint64
	first        int
	overlookedAt time.Time

	// undone says that Argo CD has left what is played undone.
	undone  bool
	rows    []wavesRow
	problem error
}

// wavesRow is what came of one play.
type wavesRow struct {
	title    string
	early    []observer.Start
	complete bool
	took     time.Duration
}

func (p *wavesPlayed) outOfOrder() (n int) {
	for _, r := range p.rows {
		n += len(r.early)
	}
	return n
}

// print prints the rows, and which starts were out of order, for whoever looks at the run.
func (p *wavesPlayed) print() {
	for _, r := range p.rows {
		title := r.title
		if p.title != "" {
			title = p.title + ": " + title
		}
		p.out.Line("| %s | %s | %d | %t | %.1f s |", title, p.mode, len(r.early), r.complete, r.took.Seconds())
		for _, s := range r.early {
			fmt.Printf("  out of order: %s at change %d, before %d: %s\n", s.Application, s.Change, len(s.Behind),
				strings.Join(s.Behind[:min(len(s.Behind), 4)], ", "))
		}
	}
}

// play installs the children, and lets everything happen to them, one after the other. It ends where the installation
// or something else than the order fails.
func (p *wavesPlayed) play() {
	p.repos, p.heads, p.staged = map[string]*argocd.Repository{}, map[string]string{}, map[string]files{}
	p.children = slices.Clone(p.children)
	p.measure("the installation", p.install)
	for _, play := range p.plays {
		if p.problem == nil {
			p.measure(play.title, play.play)
		}
	}
}

// measure plays something, and adds its row.
func (p *wavesPlayed) measure(title string, play func(*wavesPlayed)) {
	began := time.Now()
	p.first = len(p.changedAt)
	err := script.Run(func() { play(p) })
	row := wavesRow{title: title, complete: err == nil && !p.undone, took: time.Since(began)}
	if err != nil {
		p.problem = fmt.Errorf("%s, %s: %s: %w", p.parent, p.mode, title, err)
	}
	for _, s := range p.starts() {
		if s.OutOfOrder() {
			row.early = append(row.early, s)
		}
	}
	fmt.Printf("%-8s %-8s %s: out of order %d, complete %t, %.1f s\n", p.parent, p.mode, title, len(row.early),
		row.complete, row.took.Seconds())
	p.rows = append(p.rows, row)
	p.since = p.newestVersion()
}

// install commits everything, and creates the parent.
func (p *wavesPlayed) install(*wavesPlayed) {
	all := p.inGit()
	for _, c := range all {
		p.stageChild(c)
		if c.chart {
			p.stage(c.repo, chartFiles("1"))
		}
	}
	p.stageVersion(all)
	p.commit()
	script.Must(p.Admin.Create(p.ctx, p.application(p.mode, p.repository("").URL)))
	if p.byHand {
		p.until("the children", all, func(*child, *argo.Application) bool { return true })
		p.syncedByPeople(all)
	}
	p.complete(all)
}

// starts are those of the children since the last row, judged by what git and the API server say.
func (p *wavesPlayed) starts() (all []observer.Start) {
	rollout, names := p.rollout(), map[string]bool{}
	for _, app := range rollout.Applications {
		names[app.Name] = true
	}
	for _, s := range observer.Judge(rollout, existing(p.seen(names))) {
		if s.ResourceVersion > p.since {
			all = append(all, s)
		}
	}
	return all
}

// rollout is the plan: the children whose content has changed in git, with their waves as steps. Nobody has to wait for
// the others.
func (p *wavesPlayed) rollout() observer.Rollout {
	plan := observer.Rollout{ChangedAt: p.changedAt, KeepsResult: p.argo.Traits.KeepsResult}
	for _, c := range p.touched(p.first) {
		plan.Applications = append(plan.Applications, observer.Application{
			Name: c.name, Step: c.wave, Changes: c.changes, Trees: c.trees,
		})
	}
	return plan
}

// seen are the observations of children, by the order in which the API server stored them.
func (p *wavesPlayed) seen(names map[string]bool) []observer.Observation {
	all := script.Get(p.recorder.seen(string(p.mode), names))
	all = append(all, script.Get(p.recorder.seen(p.mode.team(), names))...)
	slices.SortStableFunc(all, func(a, b observer.Observation) int {
		return cmp.Compare(a.ResourceVersion, b.ResourceVersion)
	})
	return all
}

// app is a child as last seen; nil if there is none.
func (p *wavesPlayed) app(c *child) *argo.Application {
	return p.recorder.app(c.namespace(p.mode), c.name)
}

// existing are the observations of Applications that are there. One that git has, and that somebody has deleted, is not
// done before it is created again: so its deletion must not make it so.
func existing(all []observer.Observation) []observer.Observation {
	return slices.DeleteFunc(all, func(o observer.Observation) bool { return o.Gone })
}

// newestVersion is the resourceVersion of the newest observation of a child.
func (p *wavesPlayed) newestVersion() (newest uint64) {
	names := map[string]bool{}
	for i := range p.children {
		names[p.children[i].name] = true
	}
	for _, o := range p.seen(names) {
		newest = max(newest, o.ResourceVersion)
	}
	return newest
}

// lastFirst asks for a comparison of all children, the last wave first. One that was deleted may not be there.
func (p *wavesPlayed) lastFirst() {
	for i := range slices.Backward(p.children) {
		script.Must(client.IgnoreNotFound(p.refreshNow(p.ctx, mode(p.children[i].namespace(p.mode)), p.children[i].name)))
	}
}

// complete waits until children have deployed the newest change.
func (p *wavesPlayed) complete(children []*child) { p.until("the newest commit", children, p.atHead) }

// atHead reports whether a child has deployed the newest commit, as last seen.
func (p *wavesPlayed) atHead(c *child, app *argo.Application) bool {
	return doneAt(script.Get(observer.Observe(app, false, time.Now())), p.heads[c.repo])
}

// until waits until each of these children exists, and was last seen so.
func (p *wavesPlayed) until(what string, children []*child, is func(*child, *argo.Application) bool) {
	var missing []string
	for end := time.Now().Add(deploysWithin); time.Now().Before(end); p.pause(pollEvery) {
		missing = missing[:0]
		script.Must(p.recorder.lost())
		p.refreshOverlooked()
		for _, c := range children {
			if app := p.app(c); app == nil || !is(c, app) {
				missing = append(missing, c.name)
			}
		}
		if len(missing) == 0 {
			return
		}
	}
	script.Fail("%s: after %s still not there: %v", what, deploysWithin, missing)
}

// refreshOverlooked asks again for what the application controller has overlooked: see rollout.refreshOverlooked.
func (p *wavesPlayed) refreshOverlooked() {
	for i := range p.children {
		c := &p.children[i]
		operation, refresh := p.recorder.overlooked(c.namespace(p.mode), c.name)
		if !operation && !refresh || time.Since(p.overlookedAt) < overlookedAfter {
			continue
		}
		p.overlookedAt = time.Now()
		fmt.Printf("  Argo CD overlooked something of %s, %s\n", c.name, p.mode)
		for _, value := range []string{"", "normal"} {
			p.annotate(c.namespace(p.mode), c.name, argo.AnnotationKeyRefresh, value)
		}
	}
}

// annotate sets an annotation of an Application, or removes it if the value is empty.
func (p *wavesPlayed) annotate(namespace, name, key, value string) {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	script.Must(client.IgnoreNotFound(p.Admin.Patch(p.ctx, app, annotation(key, value))))
}

// pause lets time pass where the time itself is played.
func (p *wavesPlayed) pause(d time.Duration) {
	select {
	case <-p.ctx.Done():
		script.Must(errors.Join(p.ctx.Err(), context.Cause(p.ctx)))
	case <-time.After(d):
	}
}
