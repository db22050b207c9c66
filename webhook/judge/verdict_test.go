// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// ofMode is a verdict in a mode.
func ofMode(mode settings.Mode, outcome policy.Outcome, err error) Verdict {
	return Verdict{
		Decision: policy.Decision{Outcome: outcome, Step: -1}, Settings: settings.Settings{Mode: mode}, Err: err,
	}
}

// A write that moves an Application between ApplicationSets is judged by both. What rejects wins over what does not,
// then a missing decision, then the outcome.
func TestStricterThan(t *testing.T) {
	fromStrict := []Verdict{
		ofMode(settings.Enforce, policy.Deny, errors.New("read")),
		ofMode(settings.Enforce, policy.Deny, nil),
		ofMode(settings.Audit, policy.Deny, errors.New("read")),
		ofMode(settings.Audit, policy.Deny, nil),
		ofMode(settings.Enforce, policy.Allow, nil),
		ofMode(settings.Off, policy.NotGated, nil),
	}
	for i, a := range fromStrict {
		for j, b := range fromStrict {
			t.Run(fmt.Sprint(i, " against ", j), func(t *testing.T) {
				NewWithT(t).Expect(a.StricterThan(b)).To(Equal(i < j))
			})
		}
	}
}

func TestInitiator(t *testing.T) {
	j := New(settings.Config{
		ServerAccounts: []string{"server"}, ApplicationSetAccounts: []string{"sets"},
	}, Dependencies{})
	for user, want := range map[string]string{
		"sets": "applicationset", "system:serviceaccount:argocd:argocd-applicationset-controller": "applicationset",
		"system:serviceaccount:gitops:cd-argocd-application-controller": "controller", "application-controller": "other",
		"server": "server", "kubernetes-admin": "other", "": "other",
	} {
		NewWithT(t).Expect(j.initiator(user)).To(Equal(want), user)
	}
}
