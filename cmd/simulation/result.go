// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kinds names what went wrong in a history, each once, and that something is a limit, held or stranded.
func (r Result) Kinds() []string {
	names := map[string]bool{}
	for _, e := range r.Early {
		names["early "+e.Kind] = true
	}
	for _, e := range r.Limits {
		names["limit "+e.Kind] = true
	}
	for _, s := range r.Stuck {
		names["stuck "+s.Kind] = true
	}
	for _, s := range r.Late {
		names["late "+s.Condition] = true
	}
	names["held"] = len(r.Held) > 0
	names["stranded"] = len(r.Stranded) > 0
	maps.DeleteFunc(names, func(_ string, there bool) bool { return !there })
	return slices.Sorted(maps.Keys(names))
}

// Wrong reports whether something went wrong in a history.
func (r Result) Wrong() bool { return len(r.Early)+len(r.Stuck)+len(r.Late) > 0 }

// Wrong reports whether a kind is a violation: limits, held and stranded are only counted.
func Wrong(kind string) bool {
	return strings.HasPrefix(kind, "early") || strings.HasPrefix(kind, "stuck") || strings.HasPrefix(kind, "late")
}

// String lists what went wrong, one line each.
func (r Result) String() string {
	var b strings.Builder
	for _, e := range r.Early {
		fmt.Fprintln(&b, "#", e)
	}
	for _, s := range r.Stuck {
		fmt.Fprintln(&b, "#", s)
	}
	for _, s := range r.Late {
		fmt.Fprintln(&b, "#", s)
	}
	for _, name := range r.Stranded {
		fmt.Fprintf(&b, "# STRANDED: %s [even without the gate]\n", name)
	}
	return b.String()
}
