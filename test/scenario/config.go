package scenario

import "github.com/stepgate/stepgate/webhook/settings"

// Config judges, and changes no operation.
func Config() settings.Config {
	return settings.Config{
		ServerAccounts: []string{ArgoCDServer}, ControllerAccounts: []string{ApplicationController},
		ApplicationSetAccounts: []string{ApplicationSetController}, BypassUsers: []string{"alice"}, Pin: settings.PinOff,
	}
}

// Pinning pins and holds, too.
func Pinning() settings.Config {
	config := Config()
	config.Pin, config.Hold = settings.PinCompared, true
	return config
}

// Releasing releases what it holds, too.
func Releasing() settings.Config {
	config := Pinning()
	config.Release = true
	return config
}
