// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// mostOfConfigMap is how much data the API server lets a ConfigMap have: MaxSecretSize of Kubernetes,
// pkg/apis/core/types.go.
const mostOfConfigMap = 1 << 20

// crowd are ApplicationSets that people are told of, with what is in the ConfigMap.
type crowd struct {
	*WithT
	state state
	there map[types.UID]bool
	now   time.Time
	// name is what each is called.
	name string
}

func newCrowd(t *testing.T, sets int) *crowd {
	c := &crowd{WithT: NewWithT(t), state: state{}, there: map[types.UID]bool{}, now: start, name: "argocd/guestbook"}
	for i := range sets {
		c.there[uid(i)] = true
	}
	return c
}

func uid(i int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)) }

// notesOf are so many notes about an occurrence.
func notesOf(occurrence, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%06x%06x", occurrence, i))
	}
	return all
}

// tell has so many told of an occurrence about which nobody was told, and returns how many are.
func (c *crowd) tell(set, occurrence, recipients int) int {
	c.now = c.now.Add(time.Second)
	change := change{set: uid(set), name: c.name, live: notesOf(occurrence, recipients)}
	for _, note := range change.live {
		if !c.state.has(change.set, note) {
			change.add = append(change.add, note)
		}
	}
	room := c.state.room(change, len(c.there))
	before := c.state
	next, added := c.state.with(change, c.there, c.now)
	c.Expect(added).To(HaveLen(min(room, len(change.add))), "what has room is known before")
	for _, note := range change.live {
		if before.has(change.set, note) && !next.has(change.set, note) {
			c.Expect(note).To(BeEmpty(), "it is still so, and would be sent again")
		}
	}
	c.state = next
	return len(added)
}

// bytes are how much the ConfigMap has, as the API server counts.
func (c *crowd) bytes() (all int) {
	data, err := c.state.data()
	c.Expect(err).NotTo(HaveOccurred())
	for key, text := range data {
		all += len(key) + len(text)
	}
	return all
}

// TestTheNotesAlwaysFitTheirConfigMap, however many ApplicationSets, recipients and occurrences there are.
func TestTheNotesAlwaysFitTheirConfigMap(t *testing.T) {
	for name, tc := range map[string]struct{ sets, recipients, occurrences int }{
		"one with everything":           {1, 50_000, 3},
		"many with many recipients":     {300, 500, 2},
		"many occurrences":              {100, 50, 40},
		"more than there is room for":   {2_500, 3, 1},
		"more, each with many":          {2_000, 50, 2},
		"as many as one finds anywhere": {1_000, 10, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, tc.sets)
			if tc.sets > 1_000 {
				c.name = strings.Repeat("n", 63) + "/" + strings.Repeat("s", 253)
			}
			told := 0
			for occurrence := range tc.occurrences {
				for set := range tc.sets {
					told += c.tell(set, occurrence, tc.recipients)
				}
			}
			c.Expect(c.bytes()).To(BeNumerically("<=", mostOfConfigMap))
			c.Expect(c.bytes()).To(BeNumerically("<=", mostBytes))
			t.Logf("%d of %d told, %d bytes", told, tc.sets*tc.recipients*tc.occurrences, c.bytes())
		})
	}
}

// TestNoneIsLeftOut by others that have as many recipients as they may, and came first.
func TestNoneIsLeftOut(t *testing.T) {
	c := newCrowd(t, 500)
	for set := range 400 {
		c.tell(set, 0, 500)
	}
	c.Expect(c.bytes()).To(BeNumerically(">", mostBytes/2))
	for occurrence := range 5 {
		for set := 400; set < 500; set++ {
			c.Expect(c.tell(set, occurrence, 10)).To(Equal(10), "ApplicationSet %d", set)
		}
	}
}

// TestNotesOfOthersStay at random: what somebody was told of, and is still so, is in the notes until it is not.
func TestNotesOfOthersStay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := newCrowd(t, 300)
	live := map[types.UID][]string{}
	for range 2_000 {
		set, occurrence, recipients := r.IntN(300), r.IntN(100), r.IntN(600)
		c.tell(set, occurrence, recipients)
		live[uid(set)] = nil
		for _, note := range notesOf(occurrence, recipients) {
			if c.state.has(uid(set), note) {
				live[uid(set)] = append(live[uid(set)], note)
			}
		}
	}
	for set, notes := range live {
		for _, note := range notes {
			if !c.state.has(set, note) {
				t.Fatal("dropped", set, note)
			}
		}
	}
	c.Expect(c.bytes()).To(BeNumerically("<=", mostBytes))
}

// TestTheOldestNotesGo, and those of what is still so stay.
func TestTheOldestNotesGo(t *testing.T) {
	c := newCrowd(t, 1)
	for occurrence := range 30 {
		c.Expect(c.tell(0, occurrence, 3)).To(Equal(3))
	}
	c.Expect(c.state[uid(0)].Sent).To(HaveLen(mostOld + 3))
	c.Expect(c.state.has(uid(0), notesOf(13, 1)[0])).To(BeTrue())
	c.Expect(c.state.has(uid(0), notesOf(12, 1)[0])).To(BeFalse())
	c.Expect(c.tell(0, 29, 3)).To(BeZero())
}

// TestNotesOfMoreThanFit are read from an older stepgate, which wrote them: each ApplicationSet goes on with its own.
func TestNotesOfMoreThanFit(t *testing.T) {
	c := newCrowd(t, 700)
	for set := range 699 {
		c.state[uid(set)] = &notes{Set: "argocd/guestbook", Sent: map[string]int64{}}
		for _, note := range notesOf(0, 52) {
			c.state[uid(set)].Sent[note] = start.Unix()
		}
	}
	before := c.bytes()
	c.Expect(before).To(And(BeNumerically(">", mostBytes), BeNumerically("<=", mostOfConfigMap)))
	c.Expect(c.tell(699, 1, 10)).To(BeZero())
	c.Expect(c.tell(0, 1, 10)).To(Equal(10))
	c.Expect(c.bytes()).To(BeNumerically("<", before))
}

// TestWithoutRoomNothingIsSent until there is room, and that is said.
func TestWithoutRoomNothingIsSent(t *testing.T) {
	w := newWorld(t)
	full := newCrowd(t, 10_000)
	for set := range full.there {
		full.state[set] = &notes{Set: strings.Repeat("x", 40), Sent: map[string]int64{"0123456789ab": start.Unix()}}
	}
	w.is(complete)
	for i := range 10_000 {
		set := w.set.DeepCopy()
		set.UID, set.Name = uid(i), fmt.Sprint("other-", i)
		set.Annotations = nil
		w.Add(set)
	}
	var err error
	w.data, err = full.state.data()
	w.Expect(err).NotTo(HaveOccurred())
	w.version = 1
	n := w.new()
	w.look(n)
	w.Expect(w.take()).To(BeEmpty())
	w.Expect(w.counted).To(Equal(map[string]int{"on-rollout-complete people no-room": 1}))
	w.Expect(w.posted).To(HaveLen(1))
	w.Expect(w.posted[0]).To(ContainSubstring("there is no room for a note of what is sent"))
	clear(w.data)
	w.clock.Step(stateFor)
	w.look(n)
	w.look(n)
	w.Expect(w.take()).To(HaveLen(1))
}
