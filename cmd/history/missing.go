// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"

	"github.com/stepgate/stepgate/webhook/ledger"
)

// Missing says in a sentence why there is no log, and what to do. It is empty for an error that tells nothing about the
// log, such as that the API server does not answer. namespace is stepgate's own, or empty.
func Missing(err error, namespace string) string {
	switch {
	case errors.Is(err, ErrNoGate):
		return "It is not known where the history is, because you may not list Deployments, or none of stepgate gates this " +
			"namespace: see stepgate doctor."
	case errors.Is(err, ErrOff):
		return "stepgate in namespace " + namespace + " keeps no history: set config.ledger to true in its chart's values."
	case errors.Is(err, ErrNoLedger):
		return "stepgate in namespace " + namespace + " has kept nothing of this rollout yet: unless its next sync " +
			"changes that, see stepgate doctor."
	case errors.Is(err, ErrNoLog):
		return "What stepgate in namespace " + namespace + " has kept of this rollout has no history yet: unless " +
			"its next sync changes that, upgrade stepgate."
	case errors.Is(err, ErrForbidden):
		return "You may not read the history: ask for the right to get ConfigMaps in namespace " + namespace + "."
	case errors.Is(err, ledger.ErrVersion):
		return "The history was written by another version of stepgate: use the version that runs in namespace " + namespace +
			"."
	case errors.Is(err, ledger.ErrUnreadable):
		return "The history cannot be read, and stepgate begins it anew with the next sync; if that does not help, see " +
			"stepgate doctor."
	}
	return ""
}
