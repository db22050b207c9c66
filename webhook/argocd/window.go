// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"time"
	_ "time/tzdata" // the image has no time zones, and without them every window would be in UTC

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
)

// WindowSubject is what the sync windows of a project select an Application by.
type WindowSubject struct {
	Name string
	// Server, Cluster and Namespace are of its destination, whose name is Cluster.
	Server, Cluster, Namespace string
}

// WindowSubjectOf is what the sync windows of its project select an Application by.
func WindowSubjectOf(app *argo.Application) WindowSubject {
	return windowSubject(app.Name, &app.Spec.Destination)
}

// WindowSubject is what the sync windows of its project select the Application by.
func (a *Application) WindowSubject() WindowSubject {
	return windowSubject(a.Metadata.Name, &a.Spec.Destination)
}

func windowSubject(name string, d *argo.ApplicationDestination) WindowSubject {
	return WindowSubject{Name: name, Server: shared(d.Server), Cluster: shared(d.Name), Namespace: shared(d.Namespace)}
}

// ProjectOf is the name of an Application's project.
func ProjectOf(app *argo.Application) string { return shared(app.Spec.GetProject()) }

// Project is the name of the Application's project.
func (a *Application) Project() string { return a.spec().GetProject() }

// SyncWindows keeps the sync windows of a project, without their descriptions. Argo CD takes UTC for a time zone that
// does not exist, and logs that each time it asks; here they are in UTC from the start.
func SyncWindows(project *argo.AppProject) argo.SyncWindows {
	var kept argo.SyncWindows
	for _, w := range project.Spec.SyncWindows {
		if w == nil {
			continue
		}
		k := w.DeepCopy()
		k.Description = ""
		if _, err := time.LoadLocation(k.TimeZone); err != nil {
			k.TimeZone = "UTC"
		}
		kept = append(kept, k)
	}
	return kept
}

// WindowOf says whether the sync windows of a project, as SyncWindows keeps them, let a sync of an Application start.
// Argo CD's own library tells whether they do at present, by its own clock. From now, which is the present, WindowOf
// looks for the next moment at which they do. A window that cannot be read closes all, as in Argo CD.
//
// It asks as syncWindowPreventsSync of argo-cd v3.5.7 does, controller/sync.go, for an operation that has not started.
// It does not see the windows of global projects.
func WindowOf(windows argo.SyncWindows, app WindowSubject, automated bool, now time.Time) policy.Window {
	matching := windows.Matches(app.application())
	if !matching.HasWindows() {
		return policy.Window{}
	}
	schedules, err := readWindows(*matching)
	if err != nil {
		return policy.Window{Closed: true, Detail: err.Error()}
	}
	can, err := matching.CanSync(!automated, nil)
	switch {
	case err != nil:
		return policy.Window{Closed: true, Detail: err.Error()}
	case can:
		return policy.Window{}
	}
	closing := schedules.closing(!automated, now)
	if len(closing) == 0 {
		return policy.Window{} // they closed between now and the moment that the library took
	}
	return policy.Window{
		Closed: true, OpensAt: schedules.opensAt(!automated, now), Detail: closing.detail(!automated, now),
	}
}

// application is an Application that the library takes for this one.
func (s WindowSubject) application() *argo.Application {
	app := &argo.Application{}
	app.Name = s.Name
	app.Spec.Destination = argo.ApplicationDestination{Server: s.Server, Name: s.Cluster, Namespace: s.Namespace}
	return app
}
