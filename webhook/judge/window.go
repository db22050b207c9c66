// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// SyncWindows tells whether the sync windows of a project let an Application start a sync. Argo CD keeps them itself: a
// sync that is let through too early does not run. It is parked, and stops other syncs of its Application until the
// window opens.
type SyncWindows interface {
	// Window is open where nothing is known of the project.
	Window(project string, app argocd.WindowSubject, automated bool, now time.Time) policy.Window
}

// KnownProjects gives the sync windows of projects as last watched; false when a project is not known. cluster.Cache
// is one.
type KnownProjects interface {
	Windows(project string) (argo.SyncWindows, bool)
}

// ProjectWindows are the SyncWindows of known projects, by Argo CD's own library.
type ProjectWindows struct{ Known KnownProjects }

var _ SyncWindows = ProjectWindows{}

// Window asks Argo CD's library.
func (p ProjectWindows) Window(project string, app argocd.WindowSubject, automated bool, now time.Time) policy.Window {
	windows, known := p.Known.Windows(project)
	if !known {
		return policy.Window{}
	}
	return argocd.WindowOf(windows, app, automated, now)
}

// window is the sync window of the Application that is written.
func (j *Judge) window(w *Write) policy.Window {
	if j.Windows == nil {
		return policy.Window{}
	}
	return j.Windows.Window(w.App.Project(), w.App.WindowSubject(), w.Target.Operation.Automated, j.Clock.Now())
}

// WindowOf is the sync window of an automated sync that an Application waits for.
func (j *Judge) WindowOf(p *argocd.Projection) policy.Window {
	if j.Windows == nil {
		return policy.Window{}
	}
	return j.Windows.Window(p.Project, p.WindowSubject, true, j.Clock.Now())
}
