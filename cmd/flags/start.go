package flags

import (
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/command"
)

// Start says which replica starts the syncs that are due.
type Start struct{ lease string }

func (s *Start) bind(f *pflag.FlagSet) {
	f.StringVar(&s.lease, "start-lease", "",
		"NAMESPACE/NAME of the Lease of the one replica that starts syncs, for --start; needs the permission to create, "+
			"get and update it")
}

func (s *Start) validate(starts bool) error {
	switch name := s.Lease(); {
	case starts && (name.Namespace == "" || name.Name == "" || strings.Contains(name.Name, "/")):
		return command.Usage("--start-lease: %q is not NAMESPACE/NAME (--start needs it)", s.lease)
	case !starts && s.lease != "":
		return command.Usage("--start-lease goes with --start only")
	}
	return nil
}

// Lease is the name of the Lease.
func (s *Start) Lease() types.NamespacedName {
	namespace, name, _ := strings.Cut(s.lease, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
