// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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

// strategyNames are the fields whose names tell that a strategy is meant, wherever they stand.
var strategyNames = []string{"strategy", "rollingSync"}

// OfStrategy reports whether a path that DecodeSet gives is meant for the strategy: it is inside it, or its field has
// such a name, if misspelt.
func OfStrategy(path string) bool {
	last := path[strings.LastIndex(path, ".")+1:]
	like := Nearest(last, strategyNames)
	// "state" is as near to "strategy" as "strategies", and something else.
	misspelt := like != "" && max(len(last), len(like))-min(len(last), len(like)) <= 2
	return strings.HasPrefix(path, "spec.strategy.") || misspelt
}

// Invalid says why DecodeSet has refused an object, and in which field, if that is known. The path of the field has no
// numbers of entries.
func Invalid(err error) (field, message string) {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return "", fmt.Sprintf("The object does not fit the schema of ApplicationSets: %.200s.", err)
	}
	kind := e.Type.String()
	switch e.Type.Kind() {
	case reflect.String:
		kind = "a text: put it in quotes"
	case reflect.Slice:
		kind = "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		kind = "an object"
	case reflect.Bool:
		kind = "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		kind = "a whole number"
	default:
	}
	return e.Field, fmt.Sprintf("The field %.80s is of the wrong type (%.80s). It has to be %s.", e.Field, e.Value, kind)
}
