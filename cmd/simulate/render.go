// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/cmd/render"
)

// rendered are the Applications that the generators of an ApplicationSet give. It refuses one of which not all can be
// known offline.
func rendered(set *argo.ApplicationSet) ([]*argo.Application, error) {
	if len(set.Spec.Generators) == 0 {
		return nil, errors.New("it has no generators, and so no Applications")
	}
	var all []*argo.Application
	for _, g := range render.Generators(set) {
		result, err := g.Render()
		switch {
		case errors.As(err, &render.TemplateError{}):
			return nil, fmt.Errorf("the template of generator %d (%s) cannot be rendered: %w", g.Index+1, g.Kind, err)
		case err != nil:
			return nil, fmt.Errorf("generator %d (%s) cannot be evaluated: %w", g.Index+1, g.Kind, err)
		case result.TooMany:
			return nil, fmt.Errorf("generator %d (%s) gives too many Applications to play", g.Index+1, g.Kind)
		case len(result.Unknown) > 0:
			return nil, fmt.Errorf("its Applications come from a %s generator and cannot be known offline; %s",
				strings.Join(result.Unknown, " and a "), howToGive)
		}
		all = append(all, result.Applications...)
	}
	return all, valid(all)
}

// valid refuses Applications that the API server refuses.
func valid(all []*argo.Application) error {
	for _, app := range all {
		if left := render.Unfilled(app.Name); left != "" {
			return fmt.Errorf("the name %s keeps the placeholder %s: no generator gives a parameter of this name", app.Name,
				left)
		}
		for key, value := range app.Labels {
			if problem := render.LabelProblem(key, value); problem != "" {
				return fmt.Errorf("the API server refuses the label %s=%s of Application %s: %s", key, value, app.Name, problem)
			}
		}
	}
	return nil
}
