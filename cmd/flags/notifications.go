package flags

import (
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/cmd/command"
)

// Notifications say whether stepgate tells people about rollouts.
type Notifications struct {
	Enabled bool
	// Namespace has the settings of Argo CD's notifications.
	Namespace string
	state     string
}

func (n *Notifications) bind(f *pflag.FlagSet) {
	f.BoolVar(&n.Enabled, "notifications", false,
		"tell people about rollouts, with the services of Argo CD's notifications; needs --notifications-state, "+
			"--notifications-namespace, and the permission to get argocd-notifications-cm and argocd-notifications-secret")
	f.StringVar(&n.state, "notifications-state", "",
		"NAMESPACE/NAME of the ConfigMap in which stepgate keeps what it has sent, and of the Lease of the one replica that "+
			"sends, for --notifications; needs the permission to create, get and update both")
	f.StringVar(&n.Namespace, "notifications-namespace", "",
		"namespace of argocd-notifications-cm and argocd-notifications-secret, for --notifications: Argo CD's")
}

func (n *Notifications) validate() error {
	switch name := n.State(); {
	case !n.Enabled && n.state != "":
		return command.Usage("--notifications-state goes with --notifications only")
	case !n.Enabled && n.Namespace != "":
		return command.Usage("--notifications-namespace goes with --notifications only")
	case !n.Enabled:
		return nil
	case name.Namespace == "" || name.Name == "" || strings.Contains(name.Name, "/"):
		return command.Usage("--notifications-state: %q is not NAMESPACE/NAME (--notifications needs it)", n.state)
	case len(validation.IsDNS1123Label(n.Namespace)) > 0:
		return command.Usage("--notifications-namespace: %q is not the name of a namespace (--notifications needs it)",
			n.Namespace)
	}
	return nil
}

// State is the name of the ConfigMap, and of the Lease.
func (n *Notifications) State() types.NamespacedName {
	namespace, name, _ := strings.Cut(n.state, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
