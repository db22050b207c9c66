// SPDX-License-Identifier: Apache-2.0

package scenario

import "github.com/stepgate/stepgate/webhook/settings"

// Config holds no operation.
func Config() settings.Config {
	return settings.Config{
		ServerAccounts:         []string{ArgoCDServer},
		ApplicationSetAccounts: []string{ApplicationSetController}, BypassUsers: []string{"alice"},
	}
}

// Pinning holds, too.
func Pinning() settings.Config {
	config := Config()
	config.Hold = true
	return config
}

// Releasing releases what it holds, too.
func Releasing() settings.Config {
	config := Pinning()
	config.Release = true
	return config
}
