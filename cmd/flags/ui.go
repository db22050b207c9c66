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
}

func (u *UI) bind(f *pflag.FlagSet) {
	f.StringVar(&u.Address, "ui-bind-address", "",
		"address of the read-only answers for stepgate's extension of Argo CD's UI (HTTP); if empty, "+
			"stepgate serves none; needs --ui-token-file")
	f.StringVar(&u.TokenFile, "ui-token-file", "",
		"file with the secret that argocd-server sends, for --ui-bind-address; stepgate reads it for each request, and "+
			"refuses all while it is missing or empty")
}

func (u *UI) validate() error {
	switch {
	case u.Address != "" && !isAddress(u.Address):
		return notAddress("--ui-bind-address", u.Address)
	case u.Address != "" && u.TokenFile == "":
		return command.Usage("--ui-bind-address needs --ui-token-file")
	case u.Address == "" && u.TokenFile != "":
		return command.Usage("--ui-token-file goes with --ui-bind-address only")
	}
	return nil
}
