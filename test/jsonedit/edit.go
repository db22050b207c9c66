// SPDX-License-Identifier: Apache-2.0

package jsonedit

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// most bounds the edits: each may copy a large part of the documents.
const most = 6

// Editor says where documents are edited, and with which values.
type Editor struct {
	// Within are paths, as "status.sync". Only the values at and below them are edited.
	Within []string
	// Values are planted, besides the common ones: null, empty ones, and some of every type.
	Values []any
}

// Edit returns the documents after the edits that the bytes choose. No bytes, no edits.
func (e Editor) Edit(choices []byte, documents ...[]byte) ([][]byte, error) {
	trees := make([]any, len(documents))
	for i, text := range documents {
		if err := json.Unmarshal(text, &trees[i]); err != nil {
			return nil, err
		}
	}
	c := &chooser{left: choices}
	for range most {
		places := e.places(trees)
		if len(c.left) == 0 || len(places) == 0 {
			break
		}
		p := places[c.upTo(len(places))]
		switch list, isList := p.value.([]any); {
		case isList && len(list) > 0 && c.upTo(2) == 0:
			p.set(c.cut(list))
		case c.upTo(3) == 0:
			p.remove()
		default:
			p.set(c.planted(p.value, places, e.Values))
		}
	}
	edited := make([][]byte, len(trees))
	for i, tree := range trees {
		text, err := json.Marshal(tree)
		if err != nil {
			return nil, err
		}
		edited[i] = text
	}
	return edited, nil
}

// place is where a value is.
type place struct {
	value  any
	set    func(any)
	remove func()
}

// places lists all values within the paths, in an order that depends on the documents only.
func (e Editor) places(trees []any) []place {
	var all []place
	var walk func(value any, path string, p place)
	walk = func(value any, path string, p place) {
		if slices.ContainsFunc(e.Within, func(w string) bool { return path == w || strings.HasPrefix(path, w+".") }) {
			all = append(all, p)
		}
		switch at := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(at)) {
				set := func(v any) { at[key] = v }
				walk(at[key], strings.TrimPrefix(path+"."+key, "."), place{at[key], set, func() { delete(at, key) }})
			}
		case []any:
			for i, v := range at {
				set := func(v any) { at[i] = v }
				walk(v, path+".#", place{v, set, func() { p.set(slices.Delete(slices.Clone(at), i, i+1)) }})
			}
		}
	}
	for _, tree := range trees {
		walk(tree, "", place{})
	}
	return all
}

// chooser takes two bytes for each choice. When none is left it chooses the first.
type chooser struct{ left []byte }

func (c *chooser) upTo(n int) int {
	if len(c.left) < 2 {
		c.left = nil
		return 0
	}
	chosen := int(binary.BigEndian.Uint16(c.left)) % n
	c.left = c.left[2:]
	return chosen
}

// planted is a value for the place of another one: null, a given value, or a copy of another place. It mostly has the
// type of the value before, because a value of another type only ends the decoding.
func (c *chooser) planted(before any, places []place, values []any) any {
	candidates := append([]any{nil, "", "x", true, int64(1), []any{}, []any{nil}, map[string]any{}}, values...)
	for _, p := range places {
		candidates = append(candidates, p.value)
	}
	if c.upTo(10) != 9 {
		candidates = slices.DeleteFunc(candidates, func(v any) bool {
			return v != nil && reflect.TypeOf(v) != reflect.TypeOf(before)
		})
	}
	return runtime.DeepCopyJSONValue(candidates[c.upTo(len(candidates))])
}

// cut is a list in reverse order, without its first or last value, or with its first value once more at the end.
func (c *chooser) cut(list []any) []any {
	list = runtime.DeepCopyJSONValue(list).([]any)
	switch c.upTo(4) {
	case 0:
		slices.Reverse(list)
	case 1:
		list = list[1:]
	case 2:
		list = list[:len(list)-1]
	default:
		list = append(list, runtime.DeepCopyJSONValue(list[0]))
	}
	return list
}
