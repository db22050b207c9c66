package main

import (
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// approvalFlags say who may approve steps. A name may hold a comma: they are no lists.
type approvalFlags struct {
	approvers webhook.ApproverConfig
	fourEyes  bool
}

func (a *approvalFlags) bind(f *pflag.FlagSet) {
	f.StringArrayVar(&a.approvers.Users, "approver", nil, "Kubernetes user who may approve steps with the annotation "+settings.ApprovedAnnotation+" (repeatable; without --approver and --approver-group: everybody who may write the ApplicationSet)")
	f.StringArrayVar(&a.approvers.Groups, "approver-group", nil, "Kubernetes group whose members may approve steps (repeatable)")
	f.BoolVar(&a.fourEyes, "approve-four-eyes", false, "an approval does not count if its user has started the rollout")
}

func (a *approvalFlags) validate() error {
	return noneEmpty(names{"--approver", a.approvers.Users}, names{"--approver-group", a.approvers.Groups})
}
