// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// oneApplication is a cluster of one Application.
type oneApplication struct {
	Live
	app   *argocd.Projection
	err   error
	reads int
}

// Application reads it, whatever the name.
func (o *oneApplication) Application(context.Context, types.NamespacedName) (*argocd.Projection, error) {
	o.reads++
	return o.app, o.err
}

// ofOwner is argocd/prod.
func ofOwner(owner types.UID) *argocd.Projection {
	p := &argocd.Projection{Owner: owner}
	p.Namespace, p.Name, p.UID = "argocd", "prod", "u1"
	return p
}

func TestWitness(t *testing.T) {
	prod := ofOwner("s1")
	for it, row := range map[string]struct {
		seen, live *argocd.Projection
		err        error
		name       string
		uid, owner types.UID
		want       bool
		wantReads  int
	}{
		"was seen":                         {seen: prod, want: true},
		"was not seen yet":                 {live: prod, want: true, wantReads: 1},
		"has another name":                 {seen: prod, live: prod, name: "dev", uid: "u2", wantReads: 1},
		"has another UID":                  {seen: prod, live: prod, uid: "u2", wantReads: 1},
		"has another owner":                {seen: prod, live: prod, owner: "s2", wantReads: 1},
		"was given to another owner since": {seen: prod, live: ofOwner("s2"), owner: "s2", want: true, wantReads: 1},
		"does not exist":                   {wantReads: 1},
		"cannot be read":                   {live: prod, err: errors.New("the API server does not answer"), wantReads: 1},
	} {
		t.Run(it, func(t *testing.T) {
			g := NewWithT(t)
			live, seen := &oneApplication{app: row.live, err: row.err}, NewHistories(clock.RealClock{})
			if row.seen != nil {
				seen.Observe(row.seen)
			}
			name, uid, owner := types.NamespacedName{Namespace: "argocd", Name: "prod"}, types.UID("u1"), types.UID("s1")
			if row.name != "" {
				name.Name = row.name
			}
			if row.uid != "" {
				uid = row.uid
			}
			if row.owner != "" {
				owner = row.owner
			}
			g.Expect(NewLookup(live, seen).Exists(t.Context(), name, uid, []types.UID{owner})).To(Equal(row.want))
			g.Expect(live.reads).To(Equal(row.wantReads))
		})
	}
	g, live := NewWithT(t), &oneApplication{app: &argocd.Projection{}}
	g.Expect(NewLookup(live, NewHistories(clock.RealClock{})).Exists(t.Context(), types.NamespacedName{}, "",
		[]types.UID{""})).To(BeFalse(), "an Application without a UID")
	g.Expect(live.reads).To(BeZero())
}
