// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/slots"
)

// Chronicler is ledger.Chronicler.
type Chronicler struct {
	judge *judge.Judge
	known judge.KnownSets
	view  *slots.View
	tell  Told
}

// Told is told what has happened in rollouts, once that is written down. Metrics is one.
type Told interface {
	// Ended is told the result of a rollout.
	Ended(result ledger.Result)
	// Completed is told how long after the first comparison with it a step, from 1, has completed a rollout.
	Completed(step int, took time.Duration)
	// Failed is told an Application of a step that has failed, and Repaired one that has not any more, and after how long.
	Failed(step int)
	Repaired(step int, took time.Duration)
}

// NewChronicler returns a Chronicler that judges as a Judge does, on what the watches know.
func NewChronicler(j *judge.Judge, known judge.KnownSets, tell Told) *Chronicler {
	return &Chronicler{judge: j, known: known, view: slots.NewView(known, nil, j.Clock), tell: tell}
}

// Next is the log of an ApplicationSet with what its Applications show now. before is what is stored of it; empty if that
// is nothing. tell is to be called once the log is stored. A log of another version is left as it is, and one that cannot
// be read begins anew.
func (c *Chronicler) Next(set *argocd.ApplicationSet, before []byte) (after []byte, tell func(), err error) {
	now := c.judge.Clock.Now().Truncate(time.Second)
	log, err := ledger.DecodeLog(before, types.UID(set.UID))
	switch {
	case errors.Is(err, ledger.ErrVersion):
		return before, func() {}, nil
	case err != nil:
		log = &ledger.Log{
			Version: ledger.Version, UID: types.UID(set.UID), Set: set.Namespace + "/" + set.Name, Since: now,
			Rollouts: []ledger.Rollout{},
		}
	}
	if !set.Ordered() {
		return before, func() {}, nil
	}
	n := &next{Log: log, o: outlook.New(c.judge, set, c.known, c.view), now: now}
	n.look()
	after, err = ledger.EncodeLog(log)
	return after, func() {
		for _, t := range n.told {
			t(c.tell)
		}
	}, err
}
