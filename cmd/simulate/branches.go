// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// modelledBranches is how many branches of one Application are modelled.
const modelledBranches = 2

// dryBranch is the model's name of the branch that all are hydrated from.
const dryBranch = "app"

// branches names the branches that Applications deploy.
type branches struct {
	// dry says that there are hydrated Applications: all are played as such, from one branch.
	dry bool
	// names are those that the model gives, by repository, chart and revision.
	names map[string]string
	// labels are for people, by the name.
	labels map[string]string
}

func newBranches(apps []*argo.Application) *branches {
	b := &branches{names: map[string]string{}, labels: map[string]string{}}
	for _, app := range apps {
		if hydrator := app.Spec.SourceHydrator; hydrator != nil && !b.dry {
			b.dry, b.labels[dryBranch] = true, label(hydrator.DrySource.RepoURL, "", hydrator.DrySource.TargetRevision)
		}
	}
	return b
}

// of names the branches of an Application, and says whether there are more. Hydrated ones have branches that the model
// makes.
func (b *branches) of(app *argo.Application) (names []string, more bool) {
	if b.dry {
		return nil, false
	}
	sources := app.Spec.GetSources()
	if len(sources) == 0 {
		sources = argo.ApplicationSources{{}} // a rendered Application may leave its spec out: all deploy the same then
	}
	for _, source := range sources {
		key := source.RepoURL + "\n" + source.Chart + "\n" + source.TargetRevision
		name := b.names[key]
		if name == "" {
			name = fmt.Sprintf("branch-%d", len(b.names)+1)
			b.names[key], b.labels[name] = name, label(source.RepoURL, source.Chart, source.TargetRevision)
		}
		if slices.Contains(names, name) {
			continue
		}
		if len(names) == modelledBranches {
			return names, true
		}
		names = append(names, name)
	}
	return names, false
}

// label is a branch for people, such as "main of guestbook".
func label(repository, chart, revision string) string {
	revision = cmp.Or(revision, "HEAD")
	if name := cmp.Or(chart, strings.TrimSuffix(path.Base(repository), ".git")); name != "." {
		return revision + " of " + name
	}
	return revision
}
