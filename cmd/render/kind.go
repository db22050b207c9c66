// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"regexp"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// The kinds of objects that Kind tells.
const (
	ApplicationSet = "ApplicationSet"
	Application    = "Application"
)

// Kind is the kind of an object of Argo CD, and empty for any other object. argocd appset get and argocd app get print
// objects without kind and apiVersion: these are told by their fields.
func Kind(raw []byte) string {
	var o struct {
		APIVersion string                     `json:"apiVersion"`
		Kind       string                     `json:"kind"`
		Spec       map[string]json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return ""
	}
	has := func(field string) bool { _, is := o.Spec[field]; return is }
	switch {
	case strings.HasPrefix(o.APIVersion, "argoproj.io/") && (o.Kind == ApplicationSet || o.Kind == Application):
		return o.Kind
	case o.APIVersion != "" || o.Kind != "":
		return ""
	case has("generators") && has("template"):
		return ApplicationSet
	case has("destination") && (has("source") || has("sources") || has("sourceHydrator")):
		return Application
	}
	return ""
}

// OtherVersion is the apiVersion of an object that Kind tells, if no API server knows it; else it is empty.
func OtherVersion(raw []byte) string {
	var o struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(raw, &o); err != nil || o.APIVersion == argo.SchemeGroupVersion.String() {
		return ""
	}
	return o.APIVersion
}

// helm are the marks of a template that Helm has to render first. The templates of an ApplicationSet are quoted.
var helm = regexp.MustCompile(
	`(?m)^[ \t]*\{\{|\{\{-?\s*(\.Values\b|\.Release\b|\.Chart\b|include\b|template\b|tpl\b|toYaml\b)`,
)

// HelmMark is where a text shows first that Helm has to render it; -1 if it does not.
func HelmMark(text []byte) int {
	if at := helm.FindIndex(text); at != nil {
		return at[1]
	}
	return -1
}
