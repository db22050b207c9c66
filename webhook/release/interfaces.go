package release

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Refresher makes Argo CD compare an Application again, in the background.
type Refresher interface {
	// Ask requests a refresh. why is the reason, and comparedAt is when Argo CD last compared the Application.
	Ask(app types.NamespacedName, why string, comparedAt time.Time)
	// AskAgain makes Argo CD notice a request that it has overlooked.
	AskAgain(app types.NamespacedName, comparedAt time.Time)
}

// Waiting knows which Applications wait. record.Waiting is one.
type Waiting interface {
	// Drop drops an Application that waits no longer.
	Drop(p *argocd.Projection)
	// Waits reports whether an Application is known to wait.
	Waits(app types.UID) bool
	// Wait remembers that an Application waits.
	Wait(app, owner types.UID, d policy.Decision)
	// StoppedSince reports whether a sync of an Application that waits has been held or denied since a time.
	StoppedSince(app types.UID, since time.Time) bool
}
