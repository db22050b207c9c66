// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	namedBlockers = 3
	maxDetail     = 60
	maxName       = 253
	// maxCluster is the length of the address of an API server.
	maxCluster = 100
	// maxText is the length of a reason for a pause, and of the description of a window.
	maxText = 160
)

// Message is the decision as one or two sentences for whoever asked for the sync: who blocks it and why, then what to
// do next. It is byte-stable: Argo CD stores it in conditions, where a text that changes would cost a status write per
// retry. The API server puts `admission webhook "..." denied the request:` before it.
func (d Decision) Message() string {
	text, next := d.said()
	if next == "" {
		return text
	}
	return text + ". Next: " + next
}

// Says is the Message without what to do next: for a denial about which nobody has to do anything.
func (d Decision) Says() string {
	text, _ := d.said()
	return text
}

// said are the words, with what the sync waits for in the end.
func (d Decision) said() (text, next string) {
	text, next = d.words()
	if d.Root == nil {
		return text, next
	}
	if !strings.Contains(text, d.Root.Text) {
		text += ". In the end it waits for this: " + d.Root.Text
	}
	return text, d.Root.Do
}

// words are what is wrong, and what to do next.
func (d Decision) words() (text, next string) {
	switch r := rowOf(d.Reason); {
	case r.words != nil:
		return r.words(d)
	case d.Outcome != Deny || len(d.Blockers) == 0 && d.Detail == "":
		return fmt.Sprintf("%s (%s)", d.Outcome, d.Reason), ""
	case len(d.Blockers) == 0:
		return fmt.Sprintf("%s may not sync %s: %s (%s: %s)", d.of(), d.when(), d.Application, d.Reason, d.Detail), d.WayOut()
	}
	return fmt.Sprintf("%s may not sync %s: %s: %s", d.of(), d.when(), d.subject(), d.Names()),
		d.next() + d.Blockers[0].WayOut()
}

// when says from when on the sync may start, if that is known.
func (d Decision) when() string {
	if d.NotBefore.IsZero() {
		return "yet"
	}
	return "before " + moment(d.NotBefore)
}

// next is what to do before the way out of the first blocker. A circle may have no other end: all of it may be waiting.
func (d Decision) next() string {
	if d.Circle == "" {
		return ""
	}
	return "take a name of the circle out of stepgate.io/after, or "
}

// of names the step and its ApplicationSet, as every message begins, or the Application that is in none.
func (d Decision) of() string {
	if d.Step < 0 {
		return "Application " + d.Application
	}
	return StepName(d.Step) + " of " + Called(d.ApplicationSet)
}

// set is the namespace and the name of the ApplicationSet.
func (d Decision) set() (namespace, name string) {
	namespace, name, _ = strings.Cut(d.ApplicationSet, "/")
	return namespace, name
}

// flags are the arguments of a command of stepgate about the step.
func (d Decision) flags() string {
	namespace, name := d.set()
	return name + " -n " + namespace + " --step " + strconv.Itoa(StepNumber(d.Step))
}

func applications(n int) string {
	if n == 1 {
		return "1 Application"
	}
	return strconv.Itoa(n) + " Applications"
}

// Names lists the first blockers with their reasons, and how many more there are.
func (d Decision) Names() string {
	var names []string
	for _, b := range d.Blockers[:min(len(d.Blockers), namedBlockers)] {
		names = append(names, b.text())
	}
	list := strings.Join(names, ", ")
	if more := len(d.Blockers) - namedBlockers; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// WayOut says what an operator can do about a denial that is about the target itself.
func (d Decision) WayOut() string { return d.Reason.wayOut(d.Next, d.Application) }

// WayOut says what an operator can do about it.
func (b *Blocker) WayOut() string {
	next := b.Reason.wayOut(b.Next, b.Named())
	if orphan := b.OrphanWayOut(); orphan != "" {
		next += "; " + orphan
	}
	return next
}

// Named is its name, with the namespace where that is not the target's.
func (b *Blocker) Named() string {
	namespace, name := ObjectOf(b.Namespace, b.Application)
	return MemberName("", namespace, name)
}

// where names the cluster of a blocker, if it is not the one in which Argo CD runs.
func (b *Blocker) where() string {
	if b.Cluster == "" {
		return ""
	}
	return " in cluster " + Printable(b.Cluster, maxCluster)
}

// subject says how many Applications, or children, of which steps are not done.
func (d Decision) subject() string {
	if d.Reason == DependencyNotDone {
		circle := ""
		if d.Circle != "" {
			circle = ", in a circle (" + d.Circle + ")"
		}
		return "it comes after " + d.Detail + ", which is not done" + circle
	}
	var steps []int
	one, more := "Application", "Applications"
	for _, b := range d.Blockers {
		steps = append(steps, b.Step)
		if _, set := SetNamed(b.Application); set {
			one, more = "child", "children"
		}
	}
	of := StepNames(steps)
	if len(d.Blockers) == 1 {
		return "1 " + one + " of " + of + " is not done"
	}
	return fmt.Sprintf("%d %s of %s are not done", len(d.Blockers), more, of)
}

// Short cuts a commit to seven characters, as git does, and anything else to a bearable length.
func Short(revision string) string {
	if len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == "" {
		return revision[:7]
	}
	return clean(revision)
}

// Revisions are the revisions of sources for a text, each short, without those of dry sources.
func Revisions(sources []Source) string {
	var all []string
	for _, s := range sources {
		if !isDry(s) {
			all = append(all, Short(s.Revision))
		}
	}
	return strings.Join(all, ", ")
}

// oneOf names the known revisions of the sources with the key.
func oneOf(sources []Source, key string) string {
	var revisions []string
	for _, s := range sources {
		if s.Key == key && s.Revision != "" {
			revisions = append(revisions, s.Revision)
		}
	}
	slices.Sort(revisions)
	revisions = slices.Compact(revisions)
	for i, r := range revisions {
		revisions[i] = Short(r)
	}
	return clean(strings.Join(revisions, " and "))
}

// clean makes text from an Application's status safe to show: whoever may write the Application chooses it.
func clean(s string) string { return Printable(s, maxDetail) }

// maxClientText bounds text that a client chose, where nothing else does.
const maxClientText = 1024

// ClientText is text that a client chose, as Printable has it, of bounded length.
func ClientText(s string) string { return Printable(s, maxClientText) }

// Printable is s on one line, cut to most characters. It is for all text that a client chose: letters of any script stay,
// ASCII control characters become "?", and what cannot be seen, or turns the direction of the line, is shown by its number,
// such as [U+202E].
func Printable(s string, most int) string {
	var all []rune
	for _, r := range s {
		if all = append(all, []rune(shown(r))...); len(all) > most { // what is longer is not looked at
			return string(all[:most-3]) + "..."
		}
	}
	return string(all)
}

// shown is a character as people see it.
func shown(r rune) string {
	switch {
	case r < ' ' || r == unicode.MaxASCII || r == utf8.RuneError:
		return "?"
	case unicode.Is(unicode.Zs, r):
		return " "
	case unicode.IsPrint(r) && !unicode.In(r, invisible...):
		return string(r)
	}
	return fmt.Sprintf("[U+%04X]", r)
}

// invisible are printable by their category, and yet nobody sees them.
var invisible = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}
