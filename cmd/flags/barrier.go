// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/command"
)

func (o *Options) bindBarrier(f *pflag.FlagSet) {
	f.BoolVar(&o.Barrier, "write-barrier", false,
		"write the Application NAME-barrier of --installation, and wait until the watch has that write, to prove in this "+
			"way that stepgate knows the Applications of the earlier steps as they are now, instead of "+
			"listing them, in a namespace of more than 100; "+
			"needs the permission to patch it, and one watch of all namespaces. If this fails, stepgate lists them")
}

// oneWatch says whether one watch sees the barrier and the Applications.
func (o *Options) oneWatch() error {
	if watched := o.Gate.Namespaces.Watched(); o.Barrier && watched[0] != metav1.NamespaceAll {
		return command.Usage("--write-barrier: it needs one watch of all namespaces, but --application-namespaces names each")
	}
	return nil
}
