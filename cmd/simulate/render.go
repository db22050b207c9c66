package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// render makes the Applications of list generators, with Argo CD's own renderer. Everything else that gives or changes
// Applications is refused: git, clusters and the like cannot be known offline.
func render(set *argo.ApplicationSet) ([]*argo.Application, error) {
	if set.Spec.TemplatePatch != nil {
		return nil, errors.New("it has a templatePatch, which may change labels; " + howToGive)
	}
	if len(set.Spec.Generators) == 0 {
		return nil, errors.New("it has no generators, and so no Applications")
	}
	template := argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Name: set.Spec.Template.Name, Labels: set.Spec.Template.Labels,
		}, Spec: set.Spec.Template.Spec,
	}
	var all []*argo.Application
	for i := range set.Spec.Generators {
		elements, err := elements(&set.Spec.Generators[i], set.Spec.GoTemplate)
		if err != nil {
			return nil, err
		}
		for n, params := range elements {
			app, err := (&utils.Render{}).RenderTemplateParams(&template, set.Spec.SyncPolicy, params, set.Spec.GoTemplate,
				set.Spec.GoTemplateOptions)
			if err != nil {
				return nil, fmt.Errorf("element %d of its list cannot be rendered: %w", n+1, err)
			}
			if app.Name == "" {
				return nil, fmt.Errorf("element %d of its list gives an Application without a name", n+1)
			}
			all = append(all, app.DeepCopy())
		}
	}
	return all, nil
}

// elements are the parameters of a list generator, as GenerateParams makes them (argo-cd v3.5.7,
// applicationset/generators/list.go).
func elements(generator *argo.ApplicationSetGenerator, goTemplate bool) ([]map[string]any, error) {
	list := generator.List
	switch {
	case list == nil:
		return nil, fmt.Errorf("its Applications come from a %s generator and cannot be known offline; %s",
			kindOf(generator), howToGive)
	case generator.Selector != nil, !reflect.DeepEqual(list.Template, argo.ApplicationSetTemplate{}):
		return nil, errors.New(
			"its list generator has a selector or a template of its own, which are not rendered offline; " + howToGive,
		)
	}
	var all []map[string]any
	for n, element := range list.Elements {
		var params map[string]any
		err := json.Unmarshal(element.Raw, &params)
		if err == nil && !goTemplate {
			params, err = flat(params)
		}
		if err != nil {
			return nil, fmt.Errorf("element %d of its list: %w", n+1, err)
		}
		all = append(all, params)
	}
	var more []map[string]any
	if err := yaml.Unmarshal([]byte(list.ElementsYaml), &more); err != nil {
		return nil, fmt.Errorf("elementsYaml of its list: %w", err)
	}
	return append(all, more...), nil
}

// flat makes the parameters of a template that is no Go template: texts only.
func flat(element map[string]any) (map[string]any, error) {
	params := map[string]any{}
	for key, value := range element {
		nested, ok := value.(map[string]any)
		if key != "values" || !ok {
			nested = map[string]any{"": value}
		}
		for name, value := range nested {
			if _, ok := value.(string); !ok {
				return nil, fmt.Errorf("%s is not a text, and without goTemplate: true it has to be", key)
			}
			if name != "" {
				name = "values." + name
			} else {
				name = key
			}
			params[name] = value
		}
	}
	return params, nil
}

// kindOf names a generator as its field is named.
func kindOf(generator *argo.ApplicationSetGenerator) string {
	fields := reflect.ValueOf(generator).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() && fields.Type().Field(i).Name != "Selector" {
			name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "nameless"
}
