package render

import (
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	kjson "sigs.k8s.io/json"
)

// DecodeSet decodes an ApplicationSet as the API server does: a field in other letters is another field. unknown are the
// paths of the fields that the API server drops, such as spec.strategy.rollingSync.steps[0].delaySeconds.
func DecodeSet(raw []byte, into *argo.ApplicationSet) (unknown []string, err error) {
	strict, err := kjson.UnmarshalStrict(raw, into)
	for _, e := range strict {
		if field, is := strings.CutPrefix(e.Error(), "unknown field "); is {
			unknown = append(unknown, strings.Trim(field, `"`))
		}
	}
	return unknown, err
}

// OfStrategy reports whether a path that DecodeSet gives is meant for the strategy, wherever it stands.
func OfStrategy(path string) bool {
	last := path[strings.LastIndex(path, ".")+1:]
	return strings.HasPrefix(path, "spec.strategy.") || last == "strategy" || last == "rollingSync"
}
