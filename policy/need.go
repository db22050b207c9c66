package policy

// Actor is who ends what a sync waits for.
type Actor string

// The actors.
const (
	// You is a person.
	You Actor = "You"
	// Time is a moment that comes, or somebody else's verification that ends.
	Time Actor = "Time"
	// ArgoCD is at work, or about to be.
	ArgoCD Actor = "ArgoCD"
)
