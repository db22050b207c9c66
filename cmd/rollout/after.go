// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
)

// After is a name that an ApplicationSet, or one of its Applications, comes after.
type After struct {
	// Name has the namespace before it where that is another one.
	Name string `json:"name"`
	Done bool   `json:"done"`
	// Older says that it is done, and that Argo CD is not known to have compared it since the change that waits.
	Older bool `json:"older,omitempty"`
	// Blockers are what is not done of it.
	Blockers []Blocker `json:"blockers,omitempty"`
}

// Text is the name with its state: infra (not done: net NotHealthy).
func (a *After) Text() string {
	switch {
	case a.Older:
		return a.Name + " (done; Argo CD has to compare it once more)"
	case a.Done:
		return a.Name + " (done)"
	}
	var all []string
	for _, b := range a.Blockers {
		all = append(all, b.Application+" "+b.why())
	}
	return a.Name + " (not done: " + listed(all) + ")"
}

// after is what an ApplicationSet and its Applications come after, by what is known. That each comparison has to be
// newer than the change that waits is not asked here: it depends on the Application that waits.
func after(o *outlook.Outlook, alone string) (all []After) {
	seen := map[types.NamespacedName]bool{}
	add := func(names []types.NamespacedName, application string) {
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			a := After{Name: strings.TrimPrefix(name.String(), o.Set.Namespace+"/")}
			for _, b := range o.NotDone(application, name) {
				a.Blockers = append(a.Blockers, blocker(b, nil))
			}
			a.Done = len(a.Blockers) == 0
			all = append(all, a)
		}
	}
	add(o.Settings.After.Names, alone)
	for _, p := range o.Applications {
		own, _, _ := argocd.After(p.Namespace, p.Annotations)
		add(own, p.Name)
	}
	return all
}

// blocker is a Blocker of the rule with what to do. by are the waves of its ApplicationSet.
func blocker(b policy.Blocker, by waves) Blocker {
	return Blocker{
		Application: b.Named(), Cluster: policy.Printable(b.Cluster, mostText), Step: by.number(b.Step),
		Wave: waveOf(b.Step), Reason: string(b.Reason), Detail: b.Detail, Do: doAbout(b), ends: b.Ends,
	}
}

// afterLines say what it comes after, and how its tracks are told apart.
func (r *Rollout) afterLines(s screen.Screen) (lines []string) {
	var texts []string
	for i := range r.After {
		texts = append(texts, r.After[i].Text())
	}
	if len(texts) > 0 {
		lines = append(lines, s.Wrap(s.Paint(screen.Bold, "Comes after")+"     ", "                ",
			strings.Join(texts, ", "))...)
	}
	if n := len(r.WaitAfter); n > 0 {
		text := r.WaitAfter[0] + " waits for that (DependencyNotDone)"
		if n > 1 {
			text = listed(r.WaitAfter) + " wait for that (DependencyNotDone)"
		}
		lines = append(lines, s.Wrap("                ", "                ", text)...)
	}
	if r.Track != "" {
		lines = append(lines, s.Wrap(s.Paint(screen.Bold, "Tracks")+"          ", "                ",
			"by the label "+r.Track)...)
	}
	return lines
}

// waitAfter takes from the decisions about syncs which of them wait for something that comes before.
func (r *Rollout) waitAfter(waiting map[string]*outlook.Sync) {
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		d := waiting[name]
		if d.Reason != policy.DependencyNotDone {
			continue
		}
		r.WaitAfter = append(r.WaitAfter, name)
		for i := range r.After {
			r.After[i].Older = r.After[i].Older || r.After[i].Done && r.After[i].Name == d.Detail
		}
	}
}

// trackCell is the track of an Application: app=shop.
func (a *Application) trackCell(key string) screen.Cell {
	if a.Track == "" {
		return screen.Cell{Text: "every track", Style: screen.Faint}
	}
	return screen.Text(key[strings.LastIndex(key, "/")+1:] + "=" + a.Track)
}

// actFirst are the blockers of a decision. Of what comes before, those stand first about which somebody has to do
// something.
func actFirst(d policy.Decision) []policy.Blocker {
	if d.Reason != policy.DependencyNotDone {
		return d.Blockers
	}
	return slices.SortedStableFunc(slices.Values(d.Blockers), func(a, b policy.Blocker) int {
		x, y := blocker(a, nil), blocker(b, nil)
		return cmp.Compare(x.effort(), y.effort())
	})
}
