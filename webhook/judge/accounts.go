// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"strings"
)

// Initiators, as the metrics name them. The first two are controllers of Argo CD.
const (
	InitiatorApplicationSet = "applicationset"
	InitiatorController     = "controller"
	InitiatorServer         = "server"
	InitiatorStepgate       = "stepgate"
	InitiatorOther          = "other"
)

// IsApplicationSetController reports whether a user is an ApplicationSet controller of Argo CD: a configured account,
// or any service account with the usual name. A wrong guess only takes an operation away for a moment.
func (j *Judge) IsApplicationSetController(user string) bool {
	return slices.Contains(j.Config.ApplicationSetAccounts, user) || isServiceAccount(user, "applicationset-controller")
}

// isServiceAccount reports whether a user is a service account whose name ends like this. Whoever installs Argo CD chooses
// what it begins with.
func isServiceAccount(user, suffix string) bool {
	return strings.HasPrefix(user, "system:serviceaccount:") && strings.HasSuffix(user, suffix)
}

// ByArgoCD reports whether a controller of Argo CD writes, for texts: by its account, or as auto-sync, which names nobody.
func (j *Judge) ByArgoCD(w *Write) bool {
	by := j.initiator(w.User)
	return by == InitiatorApplicationSet || by == InitiatorController ||
		w.Target.Operation.Automated && w.InitiatedBy == "" && w.App.AutoSyncs()
}

// AsksAgain reports whether who writes an operation asks again by himself: a controller of Argo CD, or who says of his
// operation that it is automated. stepgate itself asks again, too, but it has to know that it did not start what it wrote.
func (j *Judge) AsksAgain(w *Write) bool {
	return j.IsApplicationSetController(w.User) ||
		w.Target.Operation.Automated && j.initiator(w.User) != InitiatorStepgate
}

// initiator names the writer for the metrics. No decision depends on who is an application controller, so a guess will do.
func (j *Judge) initiator(user string) string {
	switch {
	case j.IsApplicationSetController(user):
		return InitiatorApplicationSet
	case isServiceAccount(user, "application-controller"):
		return InitiatorController
	case slices.Contains(j.Config.ServerAccounts, user):
		return InitiatorServer
	case j.Config.Account != "" && user == j.Config.Account:
		return InitiatorStepgate
	}
	return InitiatorOther
}
