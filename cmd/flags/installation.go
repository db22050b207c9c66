// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/command"
)

// Installation is the name that all objects of an installation of stepgate begin with, and their namespace.
type Installation struct{ text string }

func (i *Installation) bind(f *pflag.FlagSet) {
	f.StringVar(&i.text, "installation", "",
		"NAMESPACE/NAME of this installation. Its webhook configurations and its Service are called NAME. NAMESPACE has the "+
			"Service, the Secret NAME-ca, the Leases NAME-start, NAME-ledger and NAME-notifications, the Application "+
			"NAME-barrier, and the ConfigMaps of stepgate")
}

func (i *Installation) validate() error {
	if namespace, name, _ := strings.Cut(i.text, "/"); namespace == "" || name == "" || strings.Contains(name, "/") {
		return command.Usage("--installation: %q is not NAMESPACE/NAME", i.text)
	}
	return nil
}

// Namespace has its objects.
func (i *Installation) Namespace() string { return i.object("").Namespace }

// Name is the name of its webhook configurations.
func (i *Installation) Name() string { return i.object("").Name }

// Host is the name by which the API server calls its Service.
func (i *Installation) Host() string { return i.Name() + "." + i.Namespace() + ".svc" }

// Reporter is the account of its reporter, which may pause and approve for users of Argo CD.
func (i *Installation) Reporter() string {
	return fmt.Sprintf("system:serviceaccount:%s:%s-reporter", i.Namespace(), i.Name())
}

// CA is the Secret of its CA.
func (i *Installation) CA() types.NamespacedName { return i.object("-ca") }

// Start is the Lease of the one replica that starts syncs.
func (i *Installation) Start() types.NamespacedName { return i.object("-start") }

// Ledger is the Lease of the one replica that writes the ledger.
func (i *Installation) Ledger() types.NamespacedName { return i.object("-ledger") }

// Barrier is the Application that it writes to prove what its watch has seen.
func (i *Installation) Barrier() types.NamespacedName { return i.object("-barrier") }

// Notifications is the ConfigMap of what was sent, and the Lease of the one replica that sends.
func (i *Installation) Notifications() types.NamespacedName { return i.object("-notifications") }

func (i *Installation) object(suffix string) types.NamespacedName {
	namespace, name, _ := strings.Cut(i.text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name + suffix}
}
