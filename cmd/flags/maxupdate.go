package flags

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/cmd/command"
)

// MaxUpdate says whether stepgate keeps the maxUpdate of steps, and where.
type MaxUpdate struct {
	Enabled   bool
	Namespace string
}

func (m *MaxUpdate) bind(f *pflag.FlagSet) {
	f.BoolVar(&m.Enabled, "max-update", false,
		"in enforce mode, let no more Applications of a step be under way at once than its maxUpdate says, whoever starts "+
			"their syncs; needs --max-update-namespace")
	f.StringVar(&m.Namespace, "max-update-namespace", "",
		"namespace in which stepgate keeps one ConfigMap for each ApplicationSet with a maxUpdate, for --max-update; needs "+
			"the permission to get, list, create, update and delete ConfigMaps there")
}

func (m *MaxUpdate) validate() error {
	switch {
	case m.Enabled && len(validation.IsDNS1123Label(m.Namespace)) > 0:
		return command.Usage("--max-update-namespace: %q is not the name of a namespace (--max-update needs it)", m.Namespace)
	case !m.Enabled && m.Namespace != "":
		return command.Usage("--max-update-namespace goes with --max-update only")
	}
	return nil
}
