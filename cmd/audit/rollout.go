// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// set is an ApplicationSet with its Applications.
type set struct {
	rule         *policy.ApplicationSet
	applications []*application
}

// steps is the number of steps: by waves, of those that an Application is in.
func (s *set) steps() int {
	if !s.rule.Waves {
		return len(s.rule.Steps)
	}
	waves := map[int]bool{}
	for _, app := range s.applications {
		waves[app.step] = true
	}
	return len(waves)
}

// lowest is the first step: by waves, the lowest one that an Application is in.
func (s *set) lowest() int {
	if !s.rule.Waves || len(s.applications) == 0 {
		return 0
	}
	return slices.MinFunc(s.applications, func(a, b *application) int { return cmp.Compare(a.step, b.step) }).step
}

// rollout is one revision of one source key.
type rollout struct {
	set     *set
	source  policy.Source
	members []*member
	// newer are the revisions that some Application deployed first after the rollout's.
	newer map[string]bool
	// before sums up, for each step that has a member, what is on record of the steps before it.
	before map[int]*earlier
}

// earlier sums up the Applications of all steps before one.
type earlier struct {
	// members are those with a record of the revision, the last to end first.
	members []*member
	// failed says that one of them failed.
	failed bool
	// absent are those whose record of the revision may have been dropped, and reaches is when the youngest of their
	// records begins.
	absent  []*application
	reaches time.Time
}

// never is later than all that is on record.
var never = time.Unix(1<<40, 0)

// member is an Application with its first sync of the revision of a rollout.
type member struct {
	*application
	// at is the position of the sync in the Application's syncs.
	at int
	// doubt is why the sync may not have been needed for the revision, and so shows no lateness; empty if there is no
	// reason.
	doubt Reason
}

func (m *member) sync() *deployment { return &m.syncs[m.at] }

// ended is when a sync ended; far in the future while it runs.
func (m *member) ended() time.Time {
	if m.sync().finished.IsZero() {
		return never
	}
	return m.sync().finished
}

// rollouts are all of a set, in the order in which they began.
func (s *set) rollouts() []*rollout {
	found := map[policy.Source]*rollout{}
	for _, app := range s.applications {
		if app.step < 0 {
			continue
		}
		seen := map[policy.Source]bool{}
		for i, sync := range app.syncs {
			for _, source := range sync.sources {
				if source.Revision == "" || seen[source] {
					continue
				}
				seen[source] = true
				if found[source] == nil {
					found[source] = &rollout{set: s, source: source}
				}
				found[source].members = append(found[source].members, &member{application: app, at: i})
			}
		}
	}
	all := make([]*rollout, 0, len(found))
	for _, r := range found {
		slices.SortFunc(r.members, func(a, b *member) int {
			return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.name, b.name))
		})
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *rollout) int {
		return cmp.Or(a.began().Compare(b.began()), cmp.Compare(a.source.Key, b.source.Key),
			cmp.Compare(a.source.Revision, b.source.Revision))
	})
	return all
}

// began is when the first sync started.
func (r *rollout) began() time.Time {
	first := r.members[0].sync().started
	for _, m := range r.members {
		if started := m.sync().started; started.Before(first) {
			first = started
		}
	}
	return first
}

// prepare sums up what compare needs again and again.
func (r *rollout) prepare() {
	r.newer = map[string]bool{}
	has := map[*application]bool{}
	for _, m := range r.members {
		has[m.application] = true
		for i := len(m.syncs) - 1; i >= 0; i-- {
			if revision := m.syncs[i].revision(r.source.Key); revision != "" {
				r.newer[revision] = r.newer[revision] || i > m.at
			}
		}
	}
	for _, m := range r.members {
		m.doubt = r.doubt(m)
	}
	r.before = map[int]*earlier{}
	for _, late := range r.members {
		step := late.step
		if r.before[step] != nil {
			continue
		}
		b := &earlier{}
		r.before[step] = b
		for _, m := range r.members {
			if m.step < step {
				b.members = append(b.members, m)
				b.failed = b.failed || m.sync().outcome == Failed
			}
		}
		slices.SortStableFunc(b.members, func(a, b *member) int { return b.ended().Compare(a.ended()) })
		for _, app := range r.set.applications {
			if app.step >= 0 && app.step < step && !has[app] && app.trimmed && app.uses(r.source.Key) {
				b.lack(app)
			}
		}
	}
}

func (b *earlier) lack(app *application) {
	b.absent = append(b.absent, app)
	b.reaches = later(b.reaches, app.reaches())
}

// uses says that a source key is or was one of the Application's.
func (a *application) uses(key string) bool {
	_, ok := a.sources[key]
	return ok
}

// reaches is when the oldest sync on record started.
func (a *application) reaches() time.Time {
	if len(a.syncs) == 0 {
		return never
	}
	return a.syncs[0].started
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// leftOut counts the Applications of earlier steps than the last that use the source, were there when the rollout
// began, and have no record of it.
func (r *rollout) leftOut() int {
	last, n := r.members[len(r.members)-1].step, 0
	has := map[*application]bool{}
	for _, m := range r.members {
		has[m.application] = true
	}
	began := r.began()
	for _, app := range r.set.applications {
		if app.step >= 0 && app.step < last && !has[app] && app.uses(r.source.Key) && !app.created.After(began) {
			n++
		}
	}
	return n
}
