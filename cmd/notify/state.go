package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	// mostNotes is how many notes are kept of one ApplicationSet, and mostOfAll of all: a ConfigMap holds 1 MiB.
	mostNotes, fewestNotes, mostOfAll = 50, 8, 20_000
	// hashLength is the length of the name of a note, in hexadecimal digits.
	hashLength = 12
)

// state is what was sent: for each ApplicationSet, when a message to a destination about an occurrence was sent.
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

// with returns the state after a change, as a state of its own. known reports whether an ApplicationSet still exists.
func (s state) with(c change, known func(types.UID) bool, now time.Time) state {
	next := state{}
	for uid, n := range s {
		if known(uid) {
			next[uid] = n
		}
	}
	n := &notes{Set: c.name, Sent: map[string]int64{}}
	if before := s[c.set]; before != nil {
		maps.Copy(n.Sent, before.Sent)
	}
	for _, note := range c.remove {
		delete(n.Sent, note)
	}
	for _, note := range c.add {
		n.Sent[note] = now.Unix()
	}
	next[c.set] = n
	if len(c.add) > 0 {
		n.truncate(max(fewestNotes, min(mostNotes, mostOfAll/len(next))), append(slices.Clone(c.live), c.add...))
	}
	if len(n.Sent) == 0 {
		delete(next, c.set)
	}
	return next
}

// truncate drops the oldest notes, but none of what is still so.
func (n *notes) truncate(most int, live []string) {
	var old []string
	for note := range n.Sent {
		if !slices.Contains(live, note) {
			old = append(old, note)
		}
	}
	slices.SortFunc(old, func(a, b string) int {
		if d := n.Sent[a] - n.Sent[b]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	for _, note := range old[:min(len(old), max(0, len(n.Sent)-most))] {
		delete(n.Sent, note)
	}
}
