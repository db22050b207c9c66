// SPDX-License-Identifier: Apache-2.0

package simulation

import "time"

// epoch is when every history begins. It lies in the future: a time before it can only be a reading of the real clock,
// and the store replaces it (see manager.go).
var epoch = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// clock is virtual time and everything that is going to happen, in order. Two things of one moment happen in the order
// in which they were scheduled.
type clock struct {
	now    time.Duration
	queue  []scheduled
	number int
	// most is how many things happen at most: far more than where nobody goes round in circles.
	most int
}

const (
	// minEvents and eventsPerApplication make the most that happens in a history.
	minEvents            = 100_000
	eventsPerApplication = 1_000
)

func newClock(applications int) clock {
	return clock{most: max(minEvents, eventsPerApplication*applications)}
}

func (c *clock) exhausted() bool { return c.number > c.most }

type scheduled struct {
	at     time.Duration
	number int
	do     func()
}

func (s scheduled) before(other scheduled) bool {
	return s.at < other.at || s.at == other.at && s.number < other.number
}

// after schedules do.
func (c *clock) after(d time.Duration, do func()) {
	c.number++
	c.queue = append(c.queue, scheduled{c.now + max(d, 0), c.number, do})
	for i := len(c.queue) - 1; i > 0; {
		parent := (i - 1) / 2
		if !c.queue[i].before(c.queue[parent]) {
			break
		}
		c.queue[i], c.queue[parent] = c.queue[parent], c.queue[i]
		i = parent
	}
}

// advance lets d pass, and everything happen that is due meanwhile.
func (c *clock) advance(d time.Duration) {
	until := c.now + d
	for len(c.queue) > 0 && c.queue[0].at <= until && !c.exhausted() {
		next := c.pop()
		c.now = max(c.now, next.at)
		next.do()
	}
	c.now = max(c.now, until)
}

func (c *clock) pop() scheduled {
	first, last := c.queue[0], len(c.queue)-1
	c.queue[0], c.queue[last] = c.queue[last], scheduled{}
	c.queue = c.queue[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && c.queue[child+1].before(c.queue[child]) {
			child++
		}
		if !c.queue[child].before(c.queue[i]) {
			return first
		}
		c.queue[i], c.queue[child] = c.queue[child], c.queue[i]
		i = child
	}
}

// Since is the time of the model that a moment in a text of it stands for.
func Since(at time.Time) time.Duration { return at.Sub(epoch) }

// At is the time of the API server at a moment of a history.
func At(moment time.Duration) time.Time { return epoch.Add(moment) }
