// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strconv"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	strictjson "sigs.k8s.io/json"
)

// Fields that only newer versions of Argo CD know may change what a sync deploys, and Argo CD's types have no place for
// them here. They are kept as a hash in a field of the same part that stands for nothing here, so that two parts that
// differ in them are not equal, and have not the same hash. A part without such fields is as it always was. None is ever
// written: what goes to the API server is taken from the text.

// unknownMark begins such a hash. No text that was JSON has this byte, so that nobody can write one.
const unknownMark = "\xff"

// decodeKept decodes a part of an Application, which may be absent, and keeps its unknown fields. It is for a whole part:
// into has all fields that Argo CD's type has.
func decodeKept(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := bounded(raw); err != nil {
		return err
	}
	strict, err := strictjson.UnmarshalStrict(raw, into)
	if err != nil || len(strict) == 0 {
		return err
	}
	return errors.Join(decode(raw, into), keepUnknown(raw, into))
}

// kept is a part of an Application with its unknown fields.
type kept[T any] struct{ part T }

// UnmarshalJSON decodes a bounded part.
func (k *kept[T]) UnmarshalJSON(raw []byte) error { return decodeKept(raw, &k.part) }

// KeepUnknown keeps the unknown fields of Applications, or of one, that were decoded from a text.
func KeepUnknown(raw []byte, decoded any) error {
	switch o := decoded.(type) {
	case *argo.Application:
		return keepApplication(raw, o)
	case *argo.ApplicationList:
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		err := strictjson.UnmarshalCaseSensitivePreserveInts(raw, &list)
		for i := range min(len(list.Items), len(o.Items)) {
			err = errors.Join(err, keepApplication(list.Items[i], &o.Items[i]))
		}
		return err
	}
	return nil
}

// keepApplication keeps the unknown fields of all that is compared of an Application.
func keepApplication(raw []byte, app *argo.Application) error {
	var text struct {
		Spec      json.RawMessage `json:"spec"`
		Operation json.RawMessage `json:"operation"`
		Status    struct {
			Sync           json.RawMessage `json:"sync"`
			History        json.RawMessage `json:"history"`
			SourceHydrator json.RawMessage `json:"sourceHydrator"`
			OperationState struct {
				Operation  json.RawMessage `json:"operation"`
				SyncResult struct {
					Source  json.RawMessage `json:"source"`
					Sources json.RawMessage `json:"sources"`
				} `json:"syncResult"`
			} `json:"operationState"`
		} `json:"status"`
	}
	if err := strictjson.UnmarshalCaseSensitivePreserveInts(raw, &text); err != nil {
		return err
	}
	status := &app.Status
	err := errors.Join(keepUnknown(text.Spec, &app.Spec), keepUnknown(text.Operation, app.Operation),
		keepUnknown(text.Status.Sync, &status.Sync), keepUnknown(text.Status.History, &status.History),
		keepUnknown(text.Status.SourceHydrator, &status.SourceHydrator))
	if state := status.OperationState; state != nil {
		ended := &text.Status.OperationState
		err = errors.Join(err, keepUnknown(ended.Operation, &state.Operation))
		if result := state.SyncResult; result != nil {
			err = errors.Join(err, keepUnknown(ended.SyncResult.Source, &result.Source),
				keepUnknown(ended.SyncResult.Sources, &result.Sources))
		}
	}
	return err
}

// keepUnknown keeps the unknown fields of a text in what was decoded from it.
func keepUnknown(raw []byte, decoded any) error {
	if len(raw) == 0 {
		return nil
	}
	var text any
	if err := strictjson.UnmarshalCaseSensitivePreserveInts(raw, &text); err != nil {
		return err
	}
	places{}.keep(text, reflect.ValueOf(decoded))
	return nil
}

// places are the fields of structs, by their names in JSON.
type places map[reflect.Type]map[string]reflect.StructField

func (s places) fieldsOf(t reflect.Type) map[string]reflect.StructField {
	if s[t] == nil {
		s[t] = map[string]reflect.StructField{}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				s[t][name] = f
			}
		}
	}
	return s[t]
}

// keep keeps the unknown fields of a text in a value of one of Argo CD's types.
func (s places) keep(text any, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			s.keep(text, v.Elem())
		}
		return
	}
	switch part := v.Addr().Interface().(type) {
	case *argo.ApplicationSource:
		part.Name += marked(s.unknownIn(text, v.Type()))
		return
	case *argo.SourceHydrator:
		part.DrySource.Path += marked(s.unknownIn(text, v.Type()))
		return
	case *argo.ComparedTo:
		s.keepCompared(text, &part.IgnoreDifferences)
	case *argo.ApplicationSpec:
		s.keepCompared(text, &part.IgnoreDifferences)
		rest := only(text, func(name string) bool { return !ofSources[name] && !ofCompared[name] })
		if mark := marked(s.unknownIn(rest, v.Type())); mark != "" {
			part.Info = append(part.Info, argo.Info{Name: mark})
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		object, _ := text.(map[string]any)
		for name, field := range s.fieldsOf(v.Type()) {
			if child := object[name]; child != nil {
				s.keep(child, v.FieldByIndex(field.Index))
			}
		}
	case reflect.Slice:
		list, _ := text.([]any)
		for i := range min(len(list), v.Len()) {
			s.keep(list[i], v.Index(i))
		}
	default: // nothing in it is compared
	}
}

// keepCompared keeps what is unknown of those parts that a comparison has beside the sources.
func (s places) keepCompared(text any, ignored *argo.IgnoreDifferences) {
	compared := only(text, func(name string) bool { return ofCompared[name] })
	if mark := marked(s.unknownIn(compared, reflect.TypeFor[argo.ComparedTo]())); mark != "" {
		*ignored = append(*ignored, argo.ResourceIgnoreDifferences{Kind: mark})
	}
}

// ofSources are the parts of a spec that have its sources, and ofCompared those that a comparison has beside them.
var (
	ofSources  = map[string]bool{"source": true, "sources": true, "sourceHydrator": true}
	ofCompared = map[string]bool{"destination": true, "ignoreDifferences": true}
)

// only are some fields of an object.
func only(text any, is func(name string) bool) map[string]any {
	object, _ := text.(map[string]any)
	some := maps.Clone(object)
	maps.DeleteFunc(some, func(name string, _ any) bool { return !is(name) })
	return some
}

// unknownIn is the part of a text for which a type has no place; nil if there is none. No type has no place for anything.
// An empty value is nothing: Argo CD leaves it out when it writes the same again.
func (s places) unknownIn(text any, t reflect.Type) any {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && decodes(t) {
		return nil // it has a place for all
	}
	children, nested := childrenOf(text)
	if !nested {
		if t != nil || text == nil || reflect.ValueOf(text).IsZero() {
			return nil
		}
		return text
	}
	place, rest := s.placeIn(t), map[string]any(nil)
	for name, child := range children {
		unknown := s.unknownIn(child, place(name))
		if unknown == nil {
			continue
		}
		if rest == nil {
			rest = map[string]any{}
		}
		rest[name] = unknown
	}
	if rest == nil {
		return nil
	}
	return rest
}

// placeIn is the place that a type has for what has a name in it; nil if it has none.
func (s places) placeIn(t reflect.Type) func(name string) reflect.Type {
	switch {
	case t == nil:
		return func(string) reflect.Type { return nil }
	case t.Kind() == reflect.Struct:
		fields := s.fieldsOf(t)
		return func(name string) reflect.Type { return fields[name].Type }
	case t.Kind() == reflect.Map || t.Kind() == reflect.Slice:
		return func(string) reflect.Type { return t.Elem() }
	}
	return func(string) reflect.Type { return t } // it has been decoded
}

// childrenOf are the fields of an object, or the elements of a list by their positions.
func childrenOf(text any) (children map[string]any, nested bool) {
	switch of := text.(type) {
	case map[string]any:
		return of, true
	case []any:
		children = make(map[string]any, len(of))
		for i, child := range of {
			children[strconv.Itoa(i)] = child
		}
		return children, true
	}
	return nil, false
}

// decodes reports whether a type decodes itself.
func decodes(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// marked is the text that stands for unknown fields; empty if there are none.
func marked(unknown any) string {
	if unknown == nil {
		return ""
	}
	return unknownMark + digest(unknown)
}

// unknownOf are the marks of the unknown fields of a spec beside its sources and what a comparison has beside them.
func unknownOf(spec *argo.ApplicationSpec) (marks []string) {
	for i := range spec.Info {
		if name := spec.Info[i].Name; strings.HasPrefix(name, unknownMark) {
			marks = append(marks, name)
		}
	}
	return marks
}
