// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/cmd/command"
)

// UI is the endpoint for Argo CD's UI.
type UI struct {
	// Address is empty if there is none.
	Address string
	// TokenFile has the secret that argocd-server sends.
	TokenFile string
	// ActTokenFile has the secret that it sends for who wants to act; empty if nobody may.
	ActTokenFile string
}

func (u *UI) bind(f *pflag.FlagSet) {
	f.StringVar(&u.Address, "ui-bind-address", "",
		"address of the answers for stepgate's extension of Argo CD's UI (HTTP); if empty, "+
			"stepgate serves none; needs --ui-token-file")
	f.StringVar(&u.TokenFile, "ui-token-file", "",
		"file with the secret that argocd-server sends, for --ui-bind-address; stepgate reads it for each request, and "+
			"refuses all while it is missing or empty")
	f.StringVar(&u.ActTokenFile, "ui-act-token-file", "",
		"file with another secret, which argocd-server sends for its extension stepgate-act: whom Argo CD lets invoke that "+
			"may pause, resume and approve; needs the permission to patch ApplicationSets, and the account NAME-reporter of "+
			"--installation")
}

func (u *UI) validate() error {
	switch {
	case u.Address != "" && !isAddress(u.Address):
		return notAddress("--ui-bind-address", u.Address)
	case u.Address != "" && u.TokenFile == "":
		return command.Usage("--ui-bind-address needs --ui-token-file")
	case u.ActTokenFile != "" && u.Address == "":
		return command.Usage("--ui-act-token-file goes with --ui-bind-address only")
	case u.Address == "" && u.TokenFile != "":
		return command.Usage("--ui-token-file goes with --ui-bind-address only")
	}
	return nil
}
