// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"github.com/spf13/pflag"

	"github.com/stepgate/stepgate/cmd/command"
)

// Client says who may call the webhook.
type Client struct {
	CAFile string
	Names  []string
}

func (c *Client) bind(f *pflag.FlagSet) {
	f.StringVar(&c.CAFile, "client-ca-file", "",
		"file with the CA certificates, in PEM, of callers of the webhook; a caller without a certificate of them is "+
			"refused. If empty, anybody who reaches the port may call")
	f.StringSliceVar(&c.Names, "client-allowed-name", nil,
		"common name or DNS name that a caller's certificate must have, for --client-ca-file (repeatable; default: any)")
}

func (c *Client) validate() error {
	if c.CAFile == "" && len(c.Names) > 0 {
		return command.Usage("--client-allowed-name needs --client-ca-file")
	}
	return noneEmpty(names{"--client-allowed-name", c.Names})
}
