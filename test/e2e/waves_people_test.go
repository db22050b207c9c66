// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/script"
)

// peopleFamily has children that nobody but people syncs.
func peopleFamily() waveFamily {
	return waveFamily{
		parent: "people", title: "children without automated sync", children: inWaves("people", 4, 2), byHand: true,
		plays: []wavesPlay{{key: "people", title: "a commit changes all; somebody syncs all at once, the last wave first", play: allByHand}},
	}
}

// allByHand has somebody sync the last child with the CLI, and then all of them, before anything was compared.
func allByHand(p *wavesPlayed) {
	all := p.inGit()
	p.stageVersion(all)
	p.commit()
	last := all[len(all)-1]
	text, err := p.clis[p.mode].Sync(p.ctx, last.name)
	fmt.Printf("$ argocd app sync %s\n%s\n", last.name, text)
	switch {
	case p.mode == off:
		script.Mustf(err, "argocd app sync %s: %s", last.name, text)
	case err == nil:
		script.Fail("argocd app sync %s was not refused: %s", last.name, text)
	case !strings.Contains(text, "PermissionDenied") || !strings.Contains(text, "may not sync "):
		script.Fail("argocd app sync %s was refused in other words than stepgate's: %s", last.name, text)
	}
	p.syncedByPeople(all)
	p.complete(all)
}

// syncedByPeople has somebody sync children at once, the last one first, and again whatever was refused, until each has
// been accepted once. With stepgate, only the first wave is not refused at first, and he is told why.
func (p *wavesPlayed) syncedByPeople(children []*child) {
	accepted, first := map[string]bool{}, children[0].wave
	p.syncOnce(children, accepted)
	for _, c := range children {
		if p.mode == waving && p.versions > 1 && accepted[c.name] != (c.wave == first) {
			script.Fail("the sync of %s, of wave %d, was accepted at once: %t", c.name, c.wave, accepted[c.name])
		}
	}
	for began := time.Now(); len(accepted) < len(children); p.syncOnce(children, accepted) {
		if p.pause(time.Second); time.Since(began) > deploysWithin {
			script.Fail("of %d, nobody can sync more than %v", len(children), accepted)
		}
	}
}

// syncOnce has somebody sync children that he has not been accepted for.
func (p *wavesPlayed) syncOnce(children []*child, accepted map[string]bool) {
	for _, c := range slices.Backward(children) {
		if accepted[c.name] || p.app(c).Operation != nil {
			continue
		}
		if err := p.syncAs(stranger, c); err != nil {
			p.toldWhy(c, children[0].wave, err)
		} else {
			accepted[c.name] = true
		}
	}
}

// toldWhy fails unless an early sync was refused in stepgate's words. During the installation, every wave may have to
// wait until the parent has written its children.
func (p *wavesPlayed) toldWhy(c *child, first int, err error) {
	words := fmt.Sprintf("wave %d of Application %s/%s may not sync ", c.wave, p.mode, p.parent)
	early := c.wave != first || p.versions == 1 && strings.Contains(err.Error(), "NotGenerated")
	if p.mode == off || !early || !fromGate(err.Error()) || !strings.Contains(err.Error(), words) {
		script.Mustf(err, "a sync of %s by %s", c.name, stranger)
	}
}

// syncAs writes the operation that `argocd app sync` writes, as a user.
func (p *wavesPlayed) syncAs(user string, c *child) error {
	operation := fmt.Appendf(nil, `{"operation":{"initiatedBy":{"username":%q},`+
		`"sync":{"revision":%q,"syncStrategy":{"hook":{}}},"info":null}}`, user, p.heads[c.repo])
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(p.mode), Name: c.name}}
	return script.Get(p.Client(user)).Patch(p.ctx, app, client.RawPatch(types.MergePatchType, operation))
}

// parentByHand has nobody but people sync the parent from now on.
func (p *wavesPlayed) parentByHand() {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(p.mode), Name: p.parent}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"syncPolicy":{"automated":null}}}`))
	script.Must(p.Admin.Patch(p.ctx, app, patch))
}
