// SPDX-License-Identifier: Apache-2.0

package course

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Pin is how an operation is pinned; the zero Pin leaves it as it is.
type Pin struct {
	argocd.Pin
	// By is the metric label: compared, candidate, or named by the operation.
	By string
}

// pin names the revisions that are judged; it is empty if the operation stays as it is.
func (c *Course) pin(w *judge.Write, in policy.Input) Pin {
	if d, settled := policy.Scope(in); settled && d.Reason != policy.NotPinned &&
		d.Reason != policy.SelfHeal {
		return Pin{}
	}
	p, revisions := Pin{By: settings.PinCompared.String()}, []string(nil)
	if in.Settings.Candidates {
		in.Siblings = judge.InSteps(in.ApplicationSet, c.Known.Owned(types.UID(in.ApplicationSet.UID)))
		if best, _ := policy.Best(policy.Candidates(in)); !best.Compared {
			revisions, p.By = best.Revisions(), settings.PinCandidate.String()
		}
	}
	if p.Pin = argocd.NewPin(w.App, w.Old, revisions); p.Named {
		p.By = "named"
	}
	if !c.Judge.Config.Start { // else a Releaser ends them
		p.BoundRetries(w.App)
	}
	return p
}

// Annotations are the audit annotations of a pinned write.
func (p Pin) Annotations() map[string]string {
	a := map[string]string{"pinned": policy.ClientText(strings.Join(p.Revisions, ","))}
	if p.Unrefreshed {
		a["retry-refresh"] = "removed"
	}
	if p.Retries != nil {
		a["retries"] = strconv.FormatInt(*p.Retries, 10)
	}
	return a
}
