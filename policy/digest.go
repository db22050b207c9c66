// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// appendDigested writes a value with all its fields, so that no two different values look alike.
func appendDigested[T any](to []byte, of *T) []byte {
	return appendValue(to, reflect.ValueOf(of).Elem())
}

var timeType = reflect.TypeFor[time.Time]()

// appendValue writes a value. A function is none: whoever has one leaves it out.
func appendValue(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(to, 1)
		}
		return append(to, 0)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(to, v.Int())
	case reflect.Uint64:
		return binary.AppendUvarint(to, v.Uint())
	case reflect.String:
		return append(binary.AppendVarint(to, int64(v.Len())), v.String()...)
	case reflect.Array, reflect.Slice:
		to = binary.AppendVarint(to, int64(v.Len()))
		for i := range v.Len() {
			to = appendValue(to, v.Index(i))
		}
		return to
	case reflect.Map:
		return appendMap(to, v)
	case reflect.Pointer:
		if v.IsNil() {
			return append(to, 0)
		}
		return appendValue(append(to, 1), v.Elem())
	case reflect.Struct:
		return appendStruct(to, v)
	default:
		if v.Kind() == reflect.Func && v.IsNil() {
			return to
		}
		panic(fmt.Sprintf("policy: a %s has no digest", v.Type()))
	}
}

func appendStruct(to []byte, v reflect.Value) []byte {
	if v.Type() == timeType {
		t := timeOf(v)
		return binary.AppendVarint(binary.AppendVarint(to, t.Unix()), int64(t.Nanosecond()))
	}
	for i := range v.NumField() {
		to = appendValue(to, v.Field(i))
	}
	return to
}

// timeOf reads a time, if it can without a copy of it.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		t, _ := v.Addr().Interface().(*time.Time)
		return *t
	}
	t, _ := v.Interface().(time.Time)
	return t
}

// appendMap writes the entries in the order of what they are written as.
func appendMap(to []byte, v reflect.Value) []byte {
	entries := make([]string, 0, v.Len())
	for all := v.MapRange(); all.Next(); {
		entries = append(entries, string(appendValue(appendValue(nil, all.Key()), all.Value())))
	}
	slices.Sort(entries)
	to = binary.AppendUvarint(to, uint64(len(entries)))
	for _, e := range entries {
		to = append(to, e...)
	}
	return to
}
