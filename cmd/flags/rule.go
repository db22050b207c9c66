package flags

import (
	"github.com/spf13/pflag"

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
	Starts    bool
	MaxUpdate MaxUpdate
	Verify    Verify
}

func (r *Rule) bind(f *pflag.FlagSet) {
	r.Gate.bind(f)
	r.Accounts.bind(f)
	f.BoolVar(&r.FourEyes, "approve-four-eyes", false, "an approval does not count if its user has started the rollout")
	f.BoolVar(&r.Starts, "start", false,
		"in enforce mode, start the sync of an Application of a RollingSync ApplicationSet if it may start and Argo CD does "+
			"not start it, as many at a time as maxUpdate says; needs --release, --start-lease, and the permission to patch "+
			"Applications")
	r.MaxUpdate.bind(f)
	r.Verify.bind(f)
}

func (r *Rule) validate() error {
	return validate(&r.Gate, &r.Accounts, &r.MaxUpdate, &r.Verify)
}

// Config is what the valid flags say.
func (r *Rule) Config() (settings.Config, error) {
	config, err := r.Gate.parse()
	if err != nil {
		return settings.Config{}, err
	}
	config.ServerAccounts, config.ControllerAccounts = r.Accounts.server, r.Accounts.controller
	config.ApplicationSetAccounts, config.BypassUsers = r.Accounts.applicationSet, r.Accounts.bypassUsers
	config.VerifyNamespaces, config.Expressions = r.Verify.namespaces, expression.NewCompiler(r.Verify.Kinds().Read)
	config.FourEyes, config.Start, config.MaxUpdate = r.FourEyes, r.Starts, r.MaxUpdate.Enabled
	return config, nil
}
