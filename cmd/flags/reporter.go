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
	Endpoints     Endpoints
	UI            UI
	Notifications Notifications
}

// Bind adds the flags.
func (r *Reporter) Bind(f *pflag.FlagSet) {
	kube.BindKubeconfig(f, &r.Kubeconfig)
	r.bind(f)
	r.Endpoints.bind(f)
	r.UI.bind(f)
	r.Notifications.bind(f)
}

// Validate says what is wrong with the flags: a command.UsageError.
func (r *Reporter) Validate() error {
	if err := validate(&r.Rule, &r.Endpoints, &r.UI, &r.Notifications); err != nil {
		return err
	}
	if r.UI.Address == "" && !r.Notifications.Enabled() {
		return command.Usage("--notifications-state or --ui-bind-address is needed: there is nobody to report to")
	}
	return nil
}
