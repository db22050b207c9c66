// SPDX-License-Identifier: Apache-2.0

package flags

import "github.com/spf13/pflag"

func (o *Options) bindLedger(f *pflag.FlagSet) {
	f.BoolVar(&o.Ledger, "ledger", false,
		"keep what Applications have completed in ConfigMaps, so that a restart does not forget it; needs the permission to "+
			"list, watch, create, update and delete ConfigMaps in its namespace, and to create, get and update the Lease "+
			"NAME-ledger of --installation")
}
