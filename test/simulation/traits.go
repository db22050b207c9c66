package simulation

// traits are how a version of Argo CD differs from 3.5, as far as the model knows. Of 3.6 that is the pinned operations: the
// refresh barrier, the refresh timestamps and the missing back-off are not modelled. Of 3.2 and 3.4 it is nothing yet.
type traits struct {
	// pins says that the ApplicationSet controller names the recorded revisions in its operations (3.6).
	pins bool
}

func traitsOf(version string) traits {
	return traits{pins: version == "3.6"}
}
