// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Approvals say who may approve steps. A name may hold a comma: they are no lists.
type Approvals struct {
	Approvers webhook.ApproverConfig
}

func (a *Approvals) bind(f *pflag.FlagSet) {
	f.StringArrayVar(&a.Approvers.Users, "approver", nil,
		"Kubernetes user who may approve steps with the annotation "+settings.ApprovedAnnotation+" (repeatable; without "+
			"--approver and --approver-group: everybody who may write the ApplicationSet)")
	f.StringArrayVar(&a.Approvers.Groups, "approver-group", nil,
		"Kubernetes group whose members may approve steps (repeatable)")
}

func (a *Approvals) validate() error {
	return noneEmpty(names{"--approver", a.Approvers.Users}, names{"--approver-group", a.Approvers.Groups})
}
