// SPDX-License-Identifier: Apache-2.0

package observer

import "time"

// open is the moment from which nothing stood in the way of a start. The observations are by Application.
func (r Rollout) open(app Application, s Start, byName map[string][]Observation) time.Time {
	open := compared(app, s, byName[app.Name])
	if open.IsZero() {
		return open
	}
	for _, earlier := range r.Applications {
		if earlier.Step >= app.Step {
			continue
		}
		done := doneSince(earlier, s, byName[earlier.Name])
		if done.IsZero() {
			return time.Time{}
		}
		if done.After(open) {
			open = done
		}
	}
	return open
}

// compared is when the Application was first compared with the change of a start.
func compared(app Application, s Start, history []Observation) time.Time {
	for _, o := range history {
		if o.ResourceVersion < s.ResourceVersion && app.change(o.Compared) >= s.Change {
			return o.At
		}
	}
	return time.Time{}
}

// doneSince is since when an Application of an earlier step was done with the change of a start, at the time of the
// start: Synced at it, Healthy, and without an operation. It is zero if it was not. A deleted Application was always
// done.
func doneSince(app Application, s Start, history []Observation) time.Time {
	var since time.Time
	for _, o := range history {
		if o.ResourceVersion >= s.ResourceVersion {
			continue
		}
		done := o.Gone || o.Synced && app.change(o.Compared) >= s.Change && o.Health == "Healthy" && !o.OperationSet
		if !done {
			since = time.Time{}
		} else if since.IsZero() {
			since = o.At
		}
	}
	return since
}
