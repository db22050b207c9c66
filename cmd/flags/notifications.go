package flags

import (
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/command"
)

// Notifications say whether stepgate tells people about rollouts.
type Notifications struct{ state string }

func (n *Notifications) bind(f *pflag.FlagSet) {
	f.StringVar(&n.state, "notifications-state", "",
		"NAMESPACE/NAME of the ConfigMap in which stepgate keeps what it has sent, and of the Lease of the one replica that "+
			"sends; needs the permission to create, get and update both, and to get argocd-notifications-cm and "+
			"argocd-notifications-secret in --argocd-namespace. If empty, stepgate tells nobody")
}

func (n *Notifications) validate() error {
	if name := n.State(); n.Enabled() && (name.Namespace == "" || name.Name == "" || strings.Contains(name.Name, "/")) {
		return command.Usage("--notifications-state: %q is not NAMESPACE/NAME", n.state)
	}
	return nil
}

// Enabled says whether stepgate tells people.
func (n *Notifications) Enabled() bool { return n.state != "" }

// State is the name of the ConfigMap, and of the Lease; empty if stepgate tells nobody.
func (n *Notifications) State() types.NamespacedName {
	namespace, name, _ := strings.Cut(n.state, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
