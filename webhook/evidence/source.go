// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Source gives what is known, and reads what has to be live. It is a judge.Evidence.
type Source struct {
	*Watch
	*Reader
}

// Watched answers with what is known alone. It is a judge.Evidence for those who admit nothing.
type Watched struct{ *Watch }

// Read gives what is known.
func (w Watched) Read(_ context.Context, v *settings.Verification, what string) (policy.Finding, error) {
	return w.Known([]settings.Verification{*v})(v.Verification, what), nil
}
