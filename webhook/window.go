package webhook

import (
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// window is the sync window of the Application that is written.
func (g *Gate) window(*write) policy.Window { return policy.Window{} }

// windowOf is the sync window of an automated sync that an Application waits for.
func (g *Gate) windowOf(*siblings.Projection) policy.Window { return policy.Window{} }
