// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/judge"
)

const (
	// passTTL is for how long the Gate takes the Mutator's judgment of a write for its own. The API server calls the
	// validating webhooks right after the mutating ones.
	passTTL = 200 * time.Millisecond
	// passMemory bounds the judgments that are remembered.
	passMemory = 1000
)

// passes are the Mutator's judgments of writes that it has let through a moment ago, by Application.
type passes struct{ *cache.LRUExpireCache }

func newPasses() passes { return passes{cache.NewLRUExpireCache(passMemory)} }

// pass is the judgment of a write.
type pass struct {
	target  policy.Target
	user    string
	dryRun  bool
	verdict judge.Verdict
}

// remember keeps a judgment for the validating webhook.
func (p passes) remember(w *judge.Write, v judge.Verdict) {
	if w.UID != "" {
		p.Add(w.UID, pass{w.Target, w.User, w.DryRun, v}, passTTL)
	}
}

// take returns the judgment of exactly this write, once.
func (p passes) take(w *judge.Write) (v judge.Verdict, ok bool) {
	found, ok := p.Get(w.UID)
	if !ok {
		return judge.Verdict{}, false
	}
	p.Remove(w.UID)
	known, ok := found.(pass)
	if !ok || known.user != w.User || known.dryRun != w.DryRun || !reflect.DeepEqual(known.target, w.Target) {
		return judge.Verdict{}, false
	}
	return known.verdict, true
}
