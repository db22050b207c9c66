// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
)

// Reporter are the flags of `stepgate-reporter serve`.
type Reporter struct {
	Kubeconfig string
	Rule
	Endpoints Endpoints
	UI        UI
	// Notifies has it tell people about rollouts.
	Notifies bool
}

// Bind adds the flags.
func (r *Reporter) Bind(f *pflag.FlagSet) {
	kube.BindKubeconfig(f, &r.Kubeconfig)
	r.bind(f)
	r.Endpoints.bind(f)
	r.UI.bind(f)
	f.BoolVar(&r.Notifies, "notifications", false,
		"tell people about rollouts; needs the permission to create, get and update the ConfigMap and the Lease "+
			"NAME-notifications of --installation, and to get argocd-notifications-cm and argocd-notifications-secret in "+
			"--argocd-namespace")
}

// Validate says what is wrong with the flags: a command.UsageError.
func (r *Reporter) Validate() error {
	if err := validate(&r.Rule, &r.Endpoints, &r.UI); err != nil {
		return err
	}
	if r.UI.Address == "" && !r.Notifies {
		return command.Usage("--notifications or --ui-bind-address is needed: there is nobody to report to")
	}
	return nil
}
