package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// barrierFlags say which Application is written to prove what the watches have seen.
type barrierFlags struct {
	application string
	above       int
}

// barrierAbove is the number of Applications up to which a LIST of their metadata costs no more than a write barrier,
// which is a write for the API server and etcd, and an event for everybody who watches Applications.
const barrierAbove = 100

func (b *barrierFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&b.application, "write-barrier", "", "NAMESPACE/NAME of an Application that stepgate writes, and waits until its watch gives it that write, to prove in this way that it knows the Applications of the earlier steps as they are now, instead of listing very many; needs the permission to patch it, and one watch of all namespaces. If empty, or if this fails, stepgate lists them")
	f.IntVar(&b.above, "write-barrier-above", barrierAbove, "number of Applications up to which stepgate lists them all the same; a LIST has all Applications of the namespace that the earlier steps select by their labels, of whichever ApplicationSet")
}

func (b *barrierFlags) validate() error {
	if b.application == "" {
		return nil
	}
	if name := b.name(); name.Namespace == "" || name.Name == "" || strings.Contains(name.Name, "/") {
		return &usageError{fmt.Sprintf("--write-barrier: %q is not NAMESPACE/NAME", b.application)}
	}
	return nil
}

// name is the Application's; empty if there is none.
func (b *barrierFlags) name() types.NamespacedName {
	namespace, name, _ := strings.Cut(b.application, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// reader proves what is known by this barrier, if there is one.
func (b *barrierFlags) reader(live *siblings.APIServer, known *siblings.Cache, c *cluster, metrics *record.Metrics) *siblings.Reader {
	reader := siblings.NewReader(live, known)
	if b.application == "" {
		return reader
	}
	return reader.WithBarrier(siblings.NewBarrier(c.versions, b.name(), known, metrics), known, b.above)
}

// oneWatch says whether one watch sees the barrier and the Applications.
func (o *options) oneWatch() error {
	if watched := o.gate.namespaces.watched(); o.barrier.application != "" && watched[0] != metav1.NamespaceAll {
		return &usageError{"--write-barrier: it needs one watch of all namespaces, but --application-namespaces names each"}
	}
	return nil
}
