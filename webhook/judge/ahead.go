// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"reflect"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// setRead is a live read of an ApplicationSet.
type setRead struct {
	set *argocd.ApplicationSet
	err error
}

// knownSet is an owner as last watched; nil when it is not known.
func (j *Judge) knownSet(owner argocd.Owner) *argocd.ApplicationSet {
	if j.Known == nil {
		return nil
	}
	if set, _ := j.Known.Set(owner.NamespacedName); set != nil && set.UID == string(owner.UID) {
		return set
	}
	return nil
}

// judgeMeanwhile judges a write by the known ApplicationSet while that is read live: the reads of a decision then go
// side by side. The known one is not trusted. If the live one differs in anything, or cannot be read, the judgment
// counts for nothing, and its reads end.
//
// What it reads of Applications is live, and begins after the request has arrived. So the reads may come in either
// order, which changes nothing: no two reads are of the same moment, whatever their order.
func (j *Judge) judgeMeanwhile(
	ctx context.Context, w *Write, owner argocd.Owner, known *argocd.ApplicationSet,
) Verdict {
	early, stop := context.WithCancel(ctx)
	defer stop()
	read := make(chan setRead, 1)
	go func() {
		set, err := cluster.Recovered(func() (*argocd.ApplicationSet, error) {
			return j.Live.ApplicationSet(ctx, owner.NamespacedName)
		})
		r := setRead{set, err}
		if !r.is(known) {
			stop()
		}
		read <- r
	}()
	v := j.judgeWith(early, w, owner, setRead{set: known})
	if r := <-read; !r.is(known) {
		return j.judgeWith(ctx, w, owner, r)
	}
	return v
}

// is reports whether the read shows that the known ApplicationSet is the live one.
func (r setRead) is(known *argocd.ApplicationSet) bool {
	return r.err == nil && reflect.DeepEqual(r.set, known)
}
