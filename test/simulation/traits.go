package simulation

// traits are how a version of Argo CD differs from the others, as far as the model knows.
type traits struct {
	// pins says that the ApplicationSet controller names the recorded revisions in its operations (3.6).
	pins bool
}

func traitsOf(version string) traits {
	return traits{pins: version == "3.6"}
}
