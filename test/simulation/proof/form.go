// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/history"
)

// form is a value without its times and positions, and these in their order. Two values behave alike if their texts are
// the same, and if their times and positions are in the same relation to one another.
type form struct {
	// skips are the names of the fields that it is without.
	skips     []string
	text      []byte
	times     []int64
	positions []position
}

// position is one of an event of the watch, with the name of its field.
type position struct {
	field string
	at    uint64
}

// formOf is the form of what a pointer points to. It looks at all fields, whoever they belong to, but for some: what
// somebody adds to them counts without a word here.
func formOf(pointer any, skips ...string) (f form) {
	f.skips = skips
	f.walk(reflect.ValueOf(pointer).Elem())
	f.skips = nil
	return f
}

// nobodyAsks are the fields of what stepgate remembers that only conditions look at, changes of specs, which there are
// none of here, or the Releaser. ofFirst are those of a target, which the first step need not be, and ofLast those of an Application that
// others wait for, which the last one is not.
var (
	nobodyAsks = []string{"brokenAt", "contentSince", "Seen", "lastRequested", "By", "by"}
	ofFirst    = append([]string{"changed", "comparedAt", "runs", "runsFrom"}, nobodyAsks...)
	ofLast     = append([]string{
		"requested", "fresh", "settling", "completions", "comparedFrom", "broken", "appliedAt",
	}, nobodyAsks...)
)

// remembered is the form of what stepgate remembers of an Application.
func remembered(record *history.Record, number int8) form {
	switch int(number) {
	case 0:
		return formOf(record, ofFirst...)
	case len(names) - 1:
		return formOf(record, ofLast...)
	}
	return formOf(record, nobodyAsks...)
}

var (
	positionType = reflect.TypeFor[uint64]()
	secondType   = reflect.TypeFor[second]()
	opTextType   = reflect.TypeFor[opText]()
)

// secondsBefore is time.Time's own number of seconds at second 0.
var secondsBefore = reflect.ValueOf(began).FieldByName("ext").Int()

// monotonic is the bit of a time.Time that says that it has a reading of the monotonic clock, and no number of seconds.
const monotonic = 1 << 63

func (f *form) walk(v reflect.Value) {
	switch v.Type() {
	case secondType:
		f.time(v.Int())
		return
	case opTextType:
		f.operation(opText(v.String()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type().PkgPath() == "time" && v.Type().Name() == "Time" {
			f.clock(v)
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch {
			case slices.Contains(f.skips, name):
			case v.Field(i).Type() == positionType:
				f.positions = append(f.positions, position{name, v.Field(i).Uint()})
			default:
				f.walk(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		f.number(uint64(v.Len()))
		for i := range v.Len() {
			f.walk(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() {
			f.number(0)
			return
		}
		f.number(1)
		f.walk(v.Elem())
	case reflect.String:
		f.number(uint64(v.Len()))
		f.text = append(f.text, v.String()...)
	case reflect.Bool:
		if v.Bool() {
			f.number(1)
		} else {
			f.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.number(v.Uint())
	default:
		panic(fmt.Sprintf("a %s has no form", v.Type()))
	}
}

func (f *form) number(n uint64) { f.text = binary.AppendUvarint(f.text, n) }

// time is a second of the world; 0 is none.
func (f *form) time(at int64) { f.times = append(f.times, at) }

// clock is a time.Time, of which the fields of others are read.
func (f *form) clock(v reflect.Value) {
	if v.FieldByName("wall").Uint()&monotonic != 0 {
		panic("a reading of the real clock")
	}
	if at := v.FieldByName("ext").Int(); at != 0 {
		f.time(at - secondsBefore)
		return
	}
	f.time(0)
}

// operation is the form of an operation, with the times in its stamp, whoever has started it.
func (f *form) operation(text opText) {
	if text == "" {
		f.number(0)
		return
	}
	op := text.decode()
	f.walk(reflect.ValueOf(op.Sync.Revision))
	f.walk(reflect.ValueOf(op.Sync.DryRun))
	f.walk(reflect.ValueOf(op.Sync.Source != nil))
	var stamp argocd.Stamp
	for _, info := range op.Info {
		if info.Name == argocd.StampInfo && json.Unmarshal([]byte(info.Value), &stamp) != nil {
			panic(info.Value) // stepgate has written it
		}
	}
	f.walk(reflect.ValueOf(&stamp).Elem())
}

// longest is more than any time that the rule knows: of two moments that are farther apart, it does not matter by how
// much.
const longest = 11

// key stands for what several forms are together.
type key [16]byte

func digest(text []byte) (k key) {
	sum := sha256.Sum256(text)
	copy(k[:], sum[:])
	return k
}

// joined makes one form of several.
type joined struct {
	form
	// apart is where the times begin that are held against one another.
	apart int
	order []int64
	// of are the positions of each Application as one that others wait for, and targets as one that waits.
	of, targets [len(names)][]uint64
}

func (j *joined) reset() {
	j.text, j.times, j.apart = j.text[:0], j.times[:0], 0
	for i := range j.of {
		j.of[i], j.targets[i] = j.of[i][:0], j.targets[i][:0]
	}
}

func (j *joined) add(f *form) {
	j.number(uint64(len(f.text)))
	j.text = append(j.text, f.text...)
	j.times = append(j.times, f.times...)
}

// place adds what is remembered of an Application.
func (j *joined) place(i int, f *form, asked []uint64) {
	j.add(f)
	for _, p := range f.positions {
		target, sibling := slices.Contains(ofTargets, p.field), slices.Contains(ofSiblings, p.field)
		if target || !sibling {
			j.targets[i] = append(j.targets[i], p.at)
		}
		if sibling || !target {
			j.of[i] = append(j.of[i], p.at)
		}
	}
	j.targets[i] = append(j.targets[i], asked...)
}

// ofSiblings are the positions of who is waited for, and ofTargets those of who waits. Others are taken for both.
var (
	ofSiblings = []string{"requested", "fresh", "comparedFrom", "From"}
	ofTargets  = []string{"changed", "comparedAt", "runsFrom"}
)

// rank replaces the times since the last call by their order. The distance to the one before counts as well, up to
// longest. Nothing holds a time of one Application against one of another.
func (j *joined) rank() {
	times := j.times[j.apart:]
	j.apart = len(j.times)
	j.order = append(j.order[:0], 0)
	j.order = append(j.order, times...)
	slices.Sort(j.order)
	j.order = slices.Compact(j.order)
	for _, at := range times {
		n, _ := slices.BinarySearch(j.order, at)
		j.number(uint64(n))
	}
	for i := 2; i < len(j.order); i++ {
		j.number(uint64(min(longest, j.order[i]-j.order[i-1])))
	}
}

// key holds the positions of those who wait against the ones of those who are waited for: nothing else does.
func (j *joined) key() key {
	for t, targets := range j.targets {
		for _, at := range targets {
			j.text = append(j.text, asByte(at == 0))
		}
		for _, at := range j.of[t] {
			j.text = append(j.text, asByte(at == 0))
		}
		for _, siblings := range j.of[:t] {
			for _, of := range siblings {
				for _, at := range targets {
					j.text = append(j.text, byte(cmp.Compare(of, at)))
				}
			}
		}
	}
	return digest(j.text)
}

func asByte(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}
