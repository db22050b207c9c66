// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// known says what the model does not show.
func (t *translation) known(o Options) []string {
	all := []string{
		"This is a model of Argo CD " + o.Version +
			". It begins with all Applications Healthy and Synced, and then " + lands(o) + " all.",
		"Durations are typical and not those of your cluster. --seed N draws other ones.",
	}
	if o.Mode != settings.Off {
		all = append(all, "stepgate is played with its default flags"+t.except(o)+".")
	}
	return all
}

// notPlayed are the annotations that change what happens, and that the model does not have.
func notPlayed(r *Rollout, o Options) (all []string) {
	if o.Mode == settings.Off {
		return nil // nothing waits for them
	}
	read := r.settings()
	// What is over, or says what holds anyway, changes nothing.
	same := map[string]bool{
		settings.BypassAnnotation: !read.Bypassed, settings.ExcludeAnnotation: len(read.Excluded) == 0,
		settings.RequireAnnotation: read.Require == policy.RequireRevision,
	}
	for _, name := range settings.Annotations() {
		_, there := r.Set.Annotations[name]
		if _, played := annotations[name]; there && !played && !same[name] {
			all = append(all, name)
		}
	}
	return all
}

// except says which flags are not.
func (t *translation) except(o Options) string {
	var flags []string
	if o.Commits != nil {
		flags = append(flags, "--pin", "--start")
	}
	if _, parent := policy.ParentNamed(t.Set.Name); parent {
		flags = append(flags, "--waves")
	}
	if t.MaxUpdate != "" {
		flags = append(flags, "--max-update")
	}
	if len(flags) == 0 {
		return ""
	}
	return " but for " + list(flags, len(flags))
}

// lands says what lands.
func lands(o Options) string {
	if o.Commits != nil {
		return "each commit changes them"
	}
	return "one commit changes them"
}
