package flags

import (
	"flag"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// BindLog adds zap's own flags.
func BindLog(f *pflag.FlagSet, o *zap.Options) {
	flags := flag.NewFlagSet("zap", flag.ContinueOnError)
	o.BindFlags(flags)
	flags.Lookup("zap-time-encoding").Usage = "Zap time encoding (one of 'epoch', 'millis', 'nano', 'iso8601', " +
		"'rfc3339' or 'rfc3339nano'). Defaults to 'rfc3339nano'."
	f.AddGoFlagSet(flags)
}
