// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Rule are the flags that say how the gate decides. Whoever tells people about its decisions has them as well, with the
// same values.
type Rule struct {
	Gate     Gate
	Accounts Accounts
	FourEyes bool
	// Starts has stepgate start the syncs that are due.
	Starts bool
	// Waves has parent Applications order their children.
	Waves bool
	// MaxUpdate has it keep the maxUpdate of steps.
	MaxUpdate bool
	Verify    Verify
	// Installation names its objects.
	Installation Installation
}

func (r *Rule) bind(f *pflag.FlagSet) {
	r.Installation.bind(f)
	r.Gate.bind(f)
	r.Accounts.bind(f)
	f.BoolVar(&r.FourEyes, "approve-four-eyes", false, "an approval does not count if its user has started the rollout")
	f.BoolVar(&r.Starts, "start", false,
		"in enforce mode, start the sync of an Application in a step or wave if it may start and Argo CD itself would, and "+
			"does not, as many at a time as maxUpdate says; needs --release, and the permission to patch Applications, and "+
			"to create, get and update the Lease NAME-start of --installation")
	f.BoolVar(&r.Waves, "waves", false,
		"parent Applications with the annotation "+settings.WavesAnnotation+" order their children, the Applications that "+
			"Argo CD tracks as theirs; the API server has to ask about these")
	f.BoolVar(&r.MaxUpdate, "max-update", false,
		"in enforce mode, let no more Applications of a step be under way at once than its maxUpdate says, whoever starts "+
			"their syncs; stepgate keeps one ConfigMap for each ApplicationSet with a maxUpdate, and needs the permission to "+
			"get, list, create, update and delete ConfigMaps in its namespace")
	r.Verify.bind(f)
}

func (r *Rule) validate() error {
	return validate(&r.Gate, &r.Accounts, &r.Verify, &r.Installation)
}

// Config is what the valid flags say.
func (r *Rule) Config() (settings.Config, error) {
	config, err := r.Gate.parse()
	if err != nil {
		return settings.Config{}, err
	}
	config.ServerAccounts, config.ApplicationSetAccounts = r.Accounts.server, r.Accounts.applicationSet
	config.BypassUsers = r.Accounts.bypassUsers
	config.VerifyNamespaces, config.Expressions = r.Verify.namespaces, expression.NewCompiler(r.Verify.Kinds().Read)
	config.FourEyes, config.Start, config.MaxUpdate, config.Waves = r.FourEyes, r.Starts, r.MaxUpdate, r.Waves
	if r.Waves {
		config.Tracking = argocd.Tracking{Home: r.Gate.argocdNamespace, Gated: r.Gate.Namespaces.Gated}
	}
	return config, nil
}
