// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"sync"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// askTimeout bounds one question of an Asker.
const askTimeout = 10 * time.Second

// Asker reads what is asked for, live and once: for somebody who looks at a rollout, and watches nothing. It is a
// judge.Evidence.
type Asker struct {
	reader *Reader
	mu     sync.Mutex
	asked  map[question]policy.Finding
}

// NewAsker returns an Asker that has asked nothing yet.
func NewAsker(reader *Reader) *Asker {
	return &Asker{reader: reader, asked: map[question]policy.Finding{}}
}

// Known asks. That it cannot be read gives no answer.
func (a *Asker) Known(all []settings.Verification) policy.Evidence {
	return func(of policy.Verification, what string) policy.Finding {
		v := Of(all, of)
		if v == nil {
			return policy.Finding{Detail: "nobody has looked"}
		}
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		found, err := a.Read(ctx, v, what)
		if err != nil {
			return policy.Finding{Detail: err.Error()}
		}
		return found
	}
}

// Read asks, unless it has been asked before.
func (a *Asker) Read(ctx context.Context, v *settings.Verification, what string) (policy.Finding, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := questionOf(v, what)
	if found, asked := a.asked[q]; asked {
		return found, nil
	}
	found, err := a.reader.Read(ctx, v, what)
	if err == nil {
		a.asked[q] = found
	}
	return found, err
}
