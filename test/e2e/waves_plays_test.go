// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// platformFamily has ten children in five waves in its own repository. Some deploy a chart that they share.
func platformFamily() waveFamily {
	return waveFamily{
		parent: "platform",
		children: []child{
			{name: "crds-a", wave: -5}, {name: "crds-b", wave: -5, chart: true},
			{name: "base-a"}, {name: "base-b", chart: true},
			{name: "extra-a", wave: 3, set: "extra", removed: true},
			{name: "fleet-a", wave: 5, set: "fleet"}, {name: "fleet-b", wave: 5, set: "fleet"},
			{name: "data-a", wave: 10, team: true}, {name: "data-b", wave: 10, chart: true},
			{name: "shop-a", wave: 20}, {name: "shop-b", wave: 20, chart: true},
		},
		plays: []wavesPlay{
			{key: "all", title: everything, play: allChange},
			{
				key: "two", title: "a commit changes two children only, of two waves; the later one is compared first",
				play: twoChange,
			},
			{key: "chart", title: "a commit changes only the chart that four children of four waves share", play: chartChanges},
			{key: "one-chart", title: "a commit changes only the values of one of them", play: valuesChange},
			{key: "degraded", title: "a commit makes a child of wave 0 Degraded", play: degradedChild},
			{key: "repaired", title: "the next commit repairs it", play: allChange},
			{key: "moved", title: "a child moves from the last wave into the middle; a commit changes all", play: movedChild},
			{key: "deleted", title: "somebody deletes a child, and a commit changes all", play: deletedChild},
			{key: "train", title: "a commit every 2.5 s, four in all, 3 s of soak before wave 0", play: wavesTrain},
			{
				key: "brought", title: "a commit brings a child of wave 3 that is an ApplicationSet, and changes all others",
				play: broughtChild,
			},
			{
				key: "pruned", title: "a commit removes a child of wave 0 and changes all others; then somebody syncs the " +
					"parent with pruning", play: prunedChild,
			},
		},
	}
}

// repositoriesFamily has its children's content in two other repositories.
func repositoriesFamily() waveFamily {
	f := waveFamily{
		parent: "repos", title: "tracked by label, content in two other repositories", children: inWaves("repos", 4, 2),
		plays: []wavesPlay{{key: "repos", title: everything, play: allChange}},
	}
	for i := range f.children {
		c := &f.children[i]
		c.repo = map[bool]string{true: "first", false: "second"}[c.wave%10 == 0]
		c.team = c.wave == 10
		if c.wave == 5 {
			c.set = "fleet"
		}
	}
	return f
}

// sixtyFamily has 60 children.
func sixtyFamily() waveFamily {
	return waveFamily{
		parent: "sixty", title: "60 children in six waves, tracked by annotation and label", children: inWaves("sixty", 6, 10),
		plays: []wavesPlay{{key: "sixty", title: everything, play: allChange}},
	}
}

// undoneFamily has children whose syncs Argo CD leaves undone.
func undoneFamily() waveFamily {
	return waveFamily{
		parent: "undone", title: "automated sync that heals nothing", children: inWaves("undone", 3, 2), attempted: true,
		plays: []wavesPlay{{
			key: "undone", title: "the last sync has no end, and a commit changes all (argo-cd 29636)", play: undoneChildren,
		}},
	}
}

// undoneChildren takes the end and the result of the last sync of every child away, as unended does. Argo CD takes the
// commit that lands then for synced, and only stepgate's own starts go on.
func undoneChildren(p *wavesPlayed) {
	unended := []byte(`{"status":{"operationState":{"finishedAt":null,"syncResult":null}}}`)
	for _, c := range p.inGit() {
		app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(p.mode), Name: c.name}}
		script.Must(p.Admin.Patch(p.ctx, app, client.RawPatch(types.MergePatchType, unended)))
	}
	p.stageVersion(p.inGit())
	p.commit()
	p.lastFirst()
	if p.mode.starts() {
		p.complete(p.inGit())
		return
	}
	p.pause(nothingFollows)
	for _, c := range p.inGit() {
		if p.atHead(c, p.app(c)) {
			script.Fail("somebody has started the sync of %s", c.name)
		}
	}
	p.undone = true
}

const everything = "a commit changes all children; the last wave is compared first"

func allChange(p *wavesPlayed) {
	p.stageVersion(p.inGit())
	p.changed()
}

// changed commits, has everybody compared, and waits until those that the commit has changed have deployed it.
func (p *wavesPlayed) changed() {
	p.commit()
	p.lastFirst()
	p.complete(p.touched(len(p.changedAt) - 1))
}

func twoChange(p *wavesPlayed) {
	p.stageVersion([]*child{p.one("base-b"), p.one("shop-a")})
	p.changed()
}

func chartChanges(p *wavesPlayed) {
	p.stage("", chartFiles("2"))
	p.changed()
	if n := len(p.touched(p.first)); n != 4 {
		script.Fail("the chart has changed %d children", n)
	}
}

func valuesChange(p *wavesPlayed) {
	p.stageVersion([]*child{p.one("data-b")})
	p.changed()
}

// nothingFollows is how long it is watched that nobody else syncs.
const nothingFollows = 15 * time.Second

func degradedChild(p *wavesPlayed) {
	bad := p.one("base-a")
	p.stageVersion(p.inGit(), bad)
	p.commit()
	p.lastFirst()
	p.complete(slices.DeleteFunc(p.inGit(), func(c *child) bool { return c == bad || c.wave > bad.wave }))
	p.pause(nothingFollows)
	if p.mode == waving {
		script.Must(p.askAboutWaves(p.ctx, bad.name))
	}
}

func movedChild(p *wavesPlayed) {
	c := p.one("shop-a")
	c.wave = 3
	p.stageChild(c)
	p.commit()
	script.Must(p.refreshNow(p.ctx, p.mode, p.parent))
	p.until("the new wave", []*child{c}, func(_ *child, app *argo.Application) bool {
		return app.Annotations[synccommon.AnnotationSyncWave] == fmt.Sprint(c.wave)
	})
	allChange(p)
}

func deletedChild(p *wavesPlayed) {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(p.mode), Name: "base-b"}}
	script.Must(p.Admin.Delete(p.ctx, app))
	allChange(p)
}

// broughtChild has the parent compared before its children: what Argo CD has not compared, nobody knows.
func broughtChild(p *wavesPlayed) {
	brought := p.one("extra-a")
	brought.removed = false
	p.stageChild(brought)
	p.stageVersion(p.inGit())
	p.commit()
	script.Must(p.refreshNow(p.ctx, p.mode, p.parent))
	p.lastFirst()
	p.complete(p.inGit())
}

// wavesSoak is longer than the time between two commits of the train.
const (
	wavesSoak     = 3 * time.Second
	wavesInterval = 2500 * time.Millisecond
)

// wavesTrain lets commits land while the first wave soaks.
func wavesTrain(p *wavesPlayed) {
	p.annotate(string(p.mode), p.parent, prefix+"soak", "0="+wavesSoak.String())
	for range 4 {
		p.stageVersion(p.inGit())
		p.commit()
		p.lastFirst()
		p.refreshOverlooked()
		p.pause(wavesInterval)
	}
	p.complete(p.inGit())
	p.annotate(string(p.mode), p.parent, prefix+"soak", "")
	if p.mode == waving {
		p.haveSoaked()
	}
}

// haveSoaked fails unless every start of wave 0 was so long after the first wave was done. Argo CD's times are cut to
// seconds.
func (p *wavesPlayed) haveSoaked() {
	soaked := 0
	for _, s := range p.starts() {
		if s.Step != 0 || s.Open.IsZero() {
			continue
		}
		soaked++
		if took := s.At.Sub(s.Open); took < wavesSoak-time.Second {
			script.Fail("%s began %s after it could have, without a soak", s.Application, took)
		}
	}
	if soaked == 0 {
		script.Fail("nothing of wave 0 has soaked")
	}
}

// prunedChild has somebody sync the parent, with pruning, when a commit has removed a child and its content. That child
// can deploy nothing any more, so later waves wait until it is gone, and no longer.
func prunedChild(p *wavesPlayed) {
	p.parentByHand()
	gone := p.one("base-a")
	p.stageRemoval(gone)
	p.stageVersion(p.inGit())
	p.commit()
	p.lastFirst()
	p.complete(slices.DeleteFunc(p.inGit(), func(c *child) bool { return c.wave >= gone.wave }))
	p.pause(standsStill)
	for _, c := range p.inGit() {
		if p.mode == waving && c.wave > gone.wave && p.atHead(c, p.app(c)) {
			script.Fail("%s did not wait for %s, which was still there", c.name, gone.name)
		}
	}
	text, err := p.clis[p.mode].Sync(p.ctx, p.parent)
	script.Mustf(err, "argocd app sync --prune %s: %s", p.parent, strings.TrimSpace(text))
	p.complete(p.inGit())
	script.Mustf(eventually.Succeeds(p.ctx, func() error {
		if p.recorder.app(string(p.mode), gone.name) != nil {
			return errors.New("it is still there")
		}
		return nil
	}), "%s, which git has no more", gone.name)
}
