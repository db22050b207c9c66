// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"encoding/json"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
)

// deployment is what an operation deploys: its sources, and the revisions that it names for them by position. An empty
// revision is not named. It mirrors newSyncOperationResult and SyncAppState of argo-cd v3.5.7, controller/sync.go: the
// operation's own sources win over those of the spec, one source takes operation.sync.revision, and many sources take
// operation.sync.revisions.
type deployment struct {
	sources   argo.ApplicationSources
	revisions []string
	// manifests says that it deploys manifests that were sent along.
	manifests bool
	// overrides says that the operation brings its own sources.
	overrides bool
	// hydrated says that the source is the hydrator's, whose dry source is compared, too.
	hydrated bool
}

func deploymentOf(sync *argo.SyncOperation, spec *argo.ApplicationSpec) deployment {
	d := deployment{manifests: len(sync.Manifests) > 0}
	many := spec.HasMultipleSources()
	switch {
	case len(sync.Sources) > 0:
		d.sources, d.overrides, many = sync.Sources, true, true
	case sync.Source != nil:
		d.sources, d.overrides, many = argo.ApplicationSources{*sync.Source}, true, false
	default:
		d.sources, d.hydrated = spec.GetSources(), spec.SourceHydrator != nil
	}
	d.revisions = []string{sync.Revision}
	if many {
		d.revisions = sync.Revisions
	}
	return d
}

// named reports whether each source has a revision.
func (d *deployment) named() bool {
	return len(d.revisions) == len(d.sources) && !slices.Contains(d.revisions, "")
}

// revision is the revision that is named for a source; empty when none is, or for local manifests, which are no
// revision of anything.
func (d *deployment) revision(i int) string {
	if d.manifests || i >= len(d.revisions) {
		return ""
	}
	return d.revisions[i]
}

// wanted are the sources and revisions that will be deployed: the named ones, else those that the Application was last
// compared with. A source is left out if neither tells.
func (d *deployment) wanted(compared []policy.Source) []policy.Source {
	var all []policy.Source
	for i, source := range d.sources {
		key := shared(SourceKey(source))
		if d.resolved(i, compared) {
			all = append(all, policy.Source{Key: key, Revision: d.revision(i)})
			continue
		}
		for _, c := range compared {
			if c.Key == key {
				all = append(all, c)
			}
		}
	}
	if n := len(compared); d.hydrated && n > 0 {
		all = append(all, compared[n-1]) // the dry source
	}
	return all
}

// resolved reports whether a source has a revision that Argo CD deploys as it is. A revision that only repeats the
// targetRevision, as kubectl users write it, is not resolved yet, unless the comparison came out at the same text: it
// is a commit then, or the version of a chart.
func (d *deployment) resolved(i int, compared []policy.Source) bool {
	revision := d.revision(i)
	if revision == "" {
		return false
	}
	if revision != cmp.Or(d.sources[i].TargetRevision, "HEAD") {
		return true
	}
	return slices.Contains(compared, policy.Source{Key: SourceKey(d.sources[i]), Revision: revision})
}

// pinned reports whether the revision of every source is resolved, and there are no more revisions than sources.
func (d *deployment) pinned(compared []policy.Source) bool {
	for i := range d.sources {
		if !d.resolved(i, compared) {
			return false
		}
	}
	return len(d.sources) > 0 && len(d.revisions) <= len(d.sources)
}

// rollsBack reports whether the operation's own sources and revisions equal an older entry of the history.
func (d *deployment) rollsBack(history argo.RevisionHistories) bool {
	if !d.overrides || len(history) == 0 {
		return false
	}
	return slices.ContainsFunc(history[:len(history)-1], d.repeats)
}

// redeploys reports whether the sources and revisions equal the newest entry of the history.
func (d *deployment) redeploys(history argo.RevisionHistories) bool {
	return len(history) > 0 && d.repeats(history.LastRevisionHistory())
}

// foreign reports whether it deploys something else than the sources of the spec. Sources that are written alike are
// the same: an empty list and none are not the same to Equals.
func (d *deployment) foreign(spec *argo.ApplicationSpec) bool {
	if d.manifests || !d.overrides {
		return d.manifests
	}
	own := spec.GetSources()
	return !d.sources.Equals(own) && asText(d.sources) != asText(own)
}

// asText is the JSON of sources. They have been JSON before.
func asText(sources argo.ApplicationSources) string {
	text, err := json.Marshal(sources)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// sameSources compares the sources with those of the newest entry of the history. It does not look at their revisions.
func (d *deployment) sameSources(history argo.RevisionHistories) bool {
	if len(history) == 0 {
		return false
	}
	newest := history.LastRevisionHistory()
	return d.sources.Equals(oneOrMany(newest.Source, newest.Sources))
}

func (d *deployment) repeats(h argo.RevisionHistory) bool {
	return d.equals(argo.ComparedTo{Source: h.Source, Sources: h.Sources}, h.Revision, h.Revisions)
}

// equals reports whether the deployment names these revisions of these sources.
func (d *deployment) equals(of argo.ComparedTo, one string, many []string) bool {
	named := revisions(one, many)
	if d.manifests || len(named) == 0 || len(named) != len(d.sources) || !slices.Equal(named, d.revisions) ||
		slices.Contains(named, "") {
		return false
	}
	return d.sources.Equals(oneOrMany(of.Source, of.Sources))
}
