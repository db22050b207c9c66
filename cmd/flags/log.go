// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"flag"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// BindLog adds zap's own flags for the level and the encoding. Its others are for who develops: times are RFC 3339 in
// every log.
func BindLog(f *pflag.FlagSet, o *zap.Options) {
	all := flag.NewFlagSet("zap", flag.ContinueOnError)
	o.BindFlags(all)
	for _, name := range []string{"zap-log-level", "zap-encoder"} {
		f.AddGoFlag(all.Lookup(name))
	}
}
