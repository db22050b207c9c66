// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stepgate/stepgate/policy"
)

// stamp says who wrote an entry of Approved, and when. It is one element of the list in ApprovedBy.
type stamp struct {
	// Step is the number, as in Approved.
	Step int    `json:"step"`
	Of   string `json:"of"`
	By   string `json:"by"`
	At   string `json:"at"`
}

func (s stamp) entry() Entry { return Entry{Number: s.Step, What: s.Of} }

// time is the zero time if it cannot be read.
func (s stamp) time() time.Time { return momentOf(s.At) }

// stamps are those of a text of ApprovedBy, by entry.
type stamps map[Entry]stamp

// readStamps reads ApprovedBy. It leaves out stamps without a user or a time, and all but the first of an entry.
func readStamps(text string) (stamps, error) {
	if len(text) > maxStamps {
		return nil, fmt.Errorf("it has more than %d bytes", maxStamps)
	}
	all := stamps{}
	if text == "" {
		return all, nil
	}
	list, err := listOf(text)
	if err != nil {
		return nil, errors.New("it is not the JSON that stepgate writes")
	}
	for _, s := range list {
		if _, another := all[s.entry()]; !another && s.By != "" && len(s.By) <= maxUser && !s.time().IsZero() {
			all[s.entry()] = s
		}
	}
	return all, nil
}

// listOf decodes a list of stamps, of which stepgate writes no more than maxEntries. It reads no more, either.
func listOf(text string) (list []stamp, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		return nil, errors.Join(err, errNoList)
	}
	for decoder.More() {
		var s stamp
		if err := decoder.Decode(&s); err != nil || len(list) == maxEntries {
			return nil, errors.Join(err, errNoList)
		}
		list = append(list, s)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoList
	}
	return list, nil
}

// errNoList is of a text that is no list of stamps.
var errNoList = errors.New("no list of stamps")

// known is what readStamps can read; none if it cannot.
func known(annotations map[string]string) stamps {
	all, err := readStamps(annotations[ApprovedBy])
	if err != nil {
		return nil
	}
	return all
}

// written is the text of stamps in the order of their entries; empty if there are none.
func (s stamps) written(order []Entry) string {
	var list []stamp
	for _, e := range order {
		if one, is := s[e]; is {
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "" // a stamp consists of numbers and texts
	}
	return string(text)
}

// entriesOf are the entries of Approved that can be read, whatever steps there are.
func entriesOf(annotations map[string]string) []Entry {
	entries, _ := Entries(annotations[Approved], nil)
	return entries
}

// Added are the entries that a write adds to Approved.
func Added(before, after map[string]string) []Entry {
	was := map[Entry]bool{}
	for _, e := range entriesOf(before) {
		was[e] = true
	}
	var added []Entry
	for _, e := range entriesOf(after) {
		if !was[e] {
			added = append(added, e)
		}
	}
	return added
}

// stamped are the stamps of the entries after a write: the old ones of the entries that were there, and new ones of
// those that the user adds. Nothing is taken from the new ApprovedBy. An entry that was there without a stamp stays
// without one: this user did not write it.
func stamped(before, after map[string]string, user string, now time.Time) stamps {
	all, old := stamps{}, known(before)
	added := map[Entry]bool{}
	for _, e := range Added(before, after) {
		added[e] = true
	}
	entries := entriesOf(after)
	for _, e := range entries[:min(len(entries), maxEntries)] {
		kept, has := old[e]
		switch {
		case added[e] && isName(user):
			all[e] = stamp{Step: e.Number, Of: e.What, By: clean(user), At: moment(now)}
		case !added[e] && has:
			all[e] = kept
		}
	}
	return all
}

// Stamped is what ApprovedBy and PausedBy have to be after a write of a user; one that has to be absent is not in it.
func Stamped(before, after map[string]string, user string, now time.Time) map[string]string {
	wanted := map[string]string{}
	if text := stamped(before, after, user, now).written(entriesOf(after)); text != "" {
		wanted[ApprovedBy] = text
	}
	if text := pausedBy(before, after, user, now); text != "" {
		wanted[PausedBy] = text
	}
	return wanted
}

// Mutate returns the annotations of a write with the stamps that Stamped wants. It leaves a stamp alone that the user
// has made up: Check then refuses it, so that nobody takes it for stored.
func Mutate(before, after map[string]string, user string, now time.Time) map[string]string {
	w := Write{Old: before, New: after, User: user, At: now}
	wanted, stored := Stamped(before, after, user, now), maps.Clone(after)
	for name, allowed := range map[string]func() bool{ApprovedBy: w.allowsStamps, PausedBy: w.allowsPausedBy} {
		if w.changed(name) && !allowed() {
			continue
		}
		if delete(stored, name); wanted[name] != "" {
			stored[name] = wanted[name]
		}
	}
	return stored
}

// atMoment is between the user and the time in PausedBy.
const atMoment = " at "

// pausedBy is what PausedBy has to be; empty if it has to be absent.
func pausedBy(before, after map[string]string, user string, now time.Time) string {
	if _, paused := after[Pause]; !paused {
		return ""
	}
	if pauseKept(before, after) {
		return before[PausedBy]
	}
	if !isName(user) {
		user = policy.Printable(user, maxUser)
	}
	return clean(user) + atMoment + moment(now)
}

// pauseKept reports whether a pause stays as it was.
func pauseKept(before, after map[string]string) bool {
	was, had := before[Pause]
	is, has := after[Pause]
	return had && has && was == is
}

// isName reports whether a user name can be in a stamp.
func isName(user string) bool { return user != "" && len(clean(user)) <= maxUser }

// clean is a user name as JSON can hold it.
func clean(user string) string { return strings.ToValidUTF8(user, string(utf8.RuneError)) }

// moment is a time as it is written in an annotation.
func moment(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

// momentOf reads what moment writes, and nothing else; the zero time otherwise.
func momentOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || moment(at) != text {
		return time.Time{}
	}
	return at
}
