// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argoproj/notifications-engine/pkg/services"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostBytes is how large the notes of all ApplicationSets may be together: a ConfigMap holds 1 MiB.
	mostBytes = 960 << 10
	// mostNotes is how many notes one ApplicationSet may have, mostOld how many of them may be about what is not so any
	// more, and fewestNotes what it may have however many ApplicationSets there are.
	mostNotes, mostOld, fewestNotes = 10 * mostRecipients, 50, 4
	// hashLength is the length of the name of a note, in hexadecimal digits.
	hashLength = 12
	// noteBytes are how many bytes a note takes, and emptyBytes are those of no notes, without names.
	noteBytes, emptyBytes = hashLength + len(`"":1763843467,`), len(`{"set":"","sent":{}}`)
)

// errNoRoom says that a message is not sent because it could not be noted.
var errNoRoom = errors.New("there is no room for a note of what is sent, so nothing more is sent for the moment")

// state is what was sent: for each ApplicationSet, when a message to a destination about an occurrence was sent. It
// always fits its ConfigMap. A message for which there is no room is not sent. The notes of an ApplicationSet are
// dropped for later ones of its own alone, the oldest first, and only if they are about what is not so any more: a
// message about what is still so is never sent again. Half of the ConfigMap is for whoever comes first. In the other
// half all ApplicationSets have an equal share, so that none with many recipients leaves the others without.
type state map[types.UID]*notes

// notes are what was sent about one ApplicationSet.
type notes struct {
	// Set is its namespace and name, for people.
	Set string `json:"set"`
	// Sent are Unix seconds, by the name of the note.
	Sent map[string]int64 `json:"sent"`
}

// noteOf is the name of the note of a message: of a condition of a trigger, the occurrence, and who is told.
func noteOf(trigger string, condition int, occurrence string, to services.Destination) string {
	parts := []string{trigger, strconv.Itoa(condition), occurrence, to.Service, to.Recipient}
	text, _ := json.Marshal(parts) // texts alone
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:hashLength]
}

// parseState reads the data of the ConfigMap. What cannot be read is an error: without it everything would be sent again.
func parseState(data map[string]string) (state, error) {
	s := state{}
	for uid, text := range data {
		n := &notes{}
		if err := json.Unmarshal([]byte(text), n); err != nil {
			return nil, fmt.Errorf("%s: %w", uid, err)
		}
		s[types.UID(uid)] = n
	}
	return s, nil
}

// data is the state as the data of a ConfigMap.
func (s state) data() (map[string]string, error) {
	data := map[string]string{}
	for uid, n := range s {
		text, err := json.Marshal(n)
		if err != nil {
			return nil, err
		}
		data[string(uid)] = string(text)
	}
	return data, nil
}

// has reports whether there is a note.
func (s state) has(set types.UID, note string) bool {
	n := s[set]
	if n == nil {
		return false
	}
	_, sent := n.Sent[note]
	return sent
}

// change is what a write changes for one ApplicationSet.
type change struct {
	set  types.UID
	name string
	// add and remove are names of notes. live are the names of notes about something that is still so: these are kept,
	// however many there are.
	add, remove, live []string
}

// bytes are how many the notes of an ApplicationSet take.
func (n *notes) bytes(set types.UID) int {
	return len(set) + len(n.Set) + emptyBytes + noteBytes*len(n.Sent)
}

// limit is how many notes an ApplicationSet may have now, of so many that there are.
func (s state) limit(c change, sets int) int {
	all := 0
	for uid, n := range s {
		all += n.bytes(uid)
	}
	most := mostNotes
	if all > mostBytes/2 {
		most = max(fewestNotes, mostBytes/2/max(sets, 1)/noteBytes)
	}
	own := s[c.set]
	if own == nil {
		own = &notes{Set: c.name}
		all += own.bytes(c.set)
	}
	return min(most, len(own.Sent)+max(0, (mostBytes-all)/noteBytes))
}

// room is how many notes a change may add. They may take the place of those about what is not so any more.
func (s state) room(c change, sets int) int { return max(0, s.limit(c, sets)-s.kept(c)) }

// kept is how many notes of an ApplicationSet are about what is still so.
func (s state) kept(c change) (kept int) {
	for _, note := range c.live {
		if s.has(c.set, note) {
			kept++
		}
	}
	return kept
}

// with returns the state after a change, as a state of its own, and the notes that were added: as many as there is room
// for. there are the ApplicationSets that exist.
func (s state) with(c change, there map[types.UID]bool, now time.Time) (next state, added []string) {
	next = state{}
	for uid, n := range s {
		if there[uid] {
			next[uid] = n
		}
	}
	limit := next.limit(c, len(there))
	added = c.add[:min(len(c.add), max(0, limit-next.kept(c)))]
	n := &notes{Set: c.name, Sent: map[string]int64{}}
	if before := s[c.set]; before != nil {
		maps.Copy(n.Sent, before.Sent)
	}
	for _, note := range c.remove {
		delete(n.Sent, note)
	}
	for _, note := range added {
		n.Sent[note] = now.Unix()
	}
	next[c.set] = n
	if len(added) > 0 {
		n.truncate(limit, append(slices.Clone(c.live), added...))
	}
	if len(n.Sent) == 0 {
		delete(next, c.set)
	}
	return next, added
}

// truncate drops the oldest notes of what is not so any more, as many as the limit wants.
func (n *notes) truncate(limit int, live []string) {
	keep := map[string]bool{}
	for _, note := range live {
		keep[note] = true
	}
	var old []string
	for note := range n.Sent {
		if !keep[note] {
			old = append(old, note)
		}
	}
	slices.SortFunc(old, func(a, b string) int {
		return cmp.Or(cmp.Compare(n.Sent[a], n.Sent[b]), strings.Compare(a, b))
	})
	most := min(mostOld, limit-(len(n.Sent)-len(old)))
	for _, note := range old[:max(0, len(old)-max(0, most))] {
		delete(n.Sent, note)
	}
}
