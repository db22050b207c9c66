package flags

import (
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/command"
)

// Barrier says which Application is written to prove what the watches have seen.
type Barrier struct {
	Application string
	Above       int
}

// barrierAbove is the number of Applications up to which a LIST of their metadata costs no more than a write barrier,
// which is a write for the API server and etcd, and an event for everybody who watches Applications.
const barrierAbove = 100

func (b *Barrier) bind(f *pflag.FlagSet) {
	f.StringVar(&b.Application, "write-barrier", "",
		"NAMESPACE/NAME of an Application that stepgate writes, and waits until its watch gives it that write, to prove "+
			"in this way that it knows the Applications of the earlier steps as they are now, instead of listing very many; "+
			"needs the permission to patch it, and one watch of all namespaces. If empty, or if this fails, stepgate lists them")
	f.IntVar(&b.Above, "write-barrier-above", barrierAbove,
		"number of Applications up to which stepgate lists them all the same; a LIST has all Applications of the "+
			"namespace that the earlier steps select by their labels, of whichever ApplicationSet")
}

func (b *Barrier) validate() error {
	if b.Application == "" {
		return nil
	}
	if name := b.Name(); name.Namespace == "" || name.Name == "" || strings.Contains(name.Name, "/") {
		return command.Usage("--write-barrier: %q is not NAMESPACE/NAME", b.Application)
	}
	return nil
}

// Name is the Application's; empty if there is none.
func (b *Barrier) Name() types.NamespacedName {
	namespace, name, _ := strings.Cut(b.Application, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// oneWatch says whether one watch sees the barrier and the Applications.
func (o *Options) oneWatch() error {
	if watched := o.Gate.Namespaces.Watched(); o.Barrier.Application != "" && watched[0] != metav1.NamespaceAll {
		return command.Usage("--write-barrier: it needs one watch of all namespaces, but --application-namespaces names each")
	}
	return nil
}
