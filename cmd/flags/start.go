package flags

import (
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/command"
)

// Start says whether stepgate starts the syncs that are due.
type Start struct {
	Enabled bool
	lease   string
}

func (s *Start) bind(f *pflag.FlagSet) {
	f.BoolVar(&s.Enabled, "start", false,
		"in enforce mode, start the sync of an Application of a RollingSync ApplicationSet if it may start and Argo CD does "+
			"not start it, as many at a time as maxUpdate says; needs --release, --start-lease, and the permission to patch "+
			"Applications")
	f.StringVar(&s.lease, "start-lease", "",
		"NAMESPACE/NAME of the Lease of the one replica that starts syncs, for --start; needs the permission to create, "+
			"get and update it")
}

func (s *Start) validate() error {
	switch name := s.Lease(); {
	case s.Enabled && (name.Namespace == "" || name.Name == "" || strings.Contains(name.Name, "/")):
		return command.Usage("--start-lease: %q is not NAMESPACE/NAME (--start needs it)", s.lease)
	case !s.Enabled && s.lease != "":
		return command.Usage("--start-lease goes with --start only")
	}
	return nil
}

// Lease is the name of the Lease.
func (s *Start) Lease() types.NamespacedName {
	namespace, name, _ := strings.Cut(s.lease, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
