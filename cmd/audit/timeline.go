// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"
)

// The sizes of a timeline, in units of its viewBox.
const (
	labelWidth  = 290
	barsWidth   = 640
	laneHeight  = 22
	headHeight  = 24
	shortestBar = 4
	mostLanes   = 40
	ticks       = 4
	letterWidth = 7
	mostLetters = (labelWidth - 20) / letterWidth
)

// timeline is the drawing of one rollout: a lane for each Application, in groups by step.
type timeline struct {
	Width, Height int
	Groups        []group
	Ticks         []tick
	// More is the number of Applications without a lane. They were not early.
	More int
}

type group struct {
	// Title is the step: "Step 3" or "Wave 20".
	Title string
	Y     int
	Lanes []lane
}

type lane struct {
	Name, Title, Text, Class string
	Y                        int
	X, Width                 float64
	// TextX is where the text stands: behind the bar, or before it, if it would not fit.
	TextX  float64
	Anchor string
}

type tick struct {
	X      float64
	Text   string
	Anchor string
}

// scale brings times to the room of the bars.
type scale struct{ from, to time.Time }

func (s scale) x(t time.Time) float64 {
	return labelWidth + barsWidth*float64(t.Sub(s.from))/float64(max(s.to.Sub(s.from), time.Second))
}

// draw makes the timeline of a rollout. A sync that still runs reaches to the right end.
func draw(r *Rollout) *timeline {
	s := scale{r.BeganAt.Time, r.BeganAt.Time}
	for _, sync := range r.Syncs {
		s.to = later(s.to, sync.StartedAt.Time)
		if sync.FinishedAt != nil {
			s.to = later(s.to, sync.FinishedAt.Time)
		}
	}
	shown := lanes(r)
	t := &timeline{Width: labelWidth + barsWidth + 10, More: len(r.Syncs) - len(shown)}
	y := headHeight
	for _, sync := range shown {
		step := stepName(sync.Step, sync.Wave)
		title := strings.ToUpper(step[:1]) + step[1:]
		if n := len(t.Groups); n == 0 || t.Groups[n-1].Title != title {
			t.Groups = append(t.Groups, group{Title: title, Y: y})
			y += laneHeight
		}
		g := &t.Groups[len(t.Groups)-1]
		g.Lanes = append(g.Lanes, s.lane(r, sync, y))
		y += laneHeight
	}
	t.Height = y + laneHeight/2
	t.Ticks = s.ticks()
	return t
}

// lanes are the syncs that are shown: those that were early and those they were before, then others.
func lanes(r *Rollout) []Sync {
	if len(r.Syncs) <= mostLanes {
		return r.Syncs
	}
	involved := map[string]bool{}
	for _, e := range r.Early {
		for _, sync := range append([]Sync{e.Sync}, e.Before...) {
			if len(involved) < mostLanes {
				involved[sync.Application] = true
			}
		}
	}
	for _, sync := range r.Syncs {
		if len(involved) < mostLanes {
			involved[sync.Application] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Syncs), func(s Sync) bool { return !involved[s.Application] })
}

func (s scale) lane(r *Rollout, sync Sync, y int) lane {
	l := lane{Name: screen.CutMiddle(sync.Application, mostLetters), Y: y, X: s.x(sync.StartedAt.Time), Class: "ok"}
	end, took := s.to, "still runs"
	if sync.FinishedAt != nil {
		end = sync.FinishedAt.Time
		took = "took " + span(int64(end.Sub(sync.StartedAt.Time)/time.Second))
	}
	l.Width = max(shortestBar, s.x(end)-l.X)
	if sync.Outcome != Succeeded {
		took += ", " + string(sync.Outcome)
	}
	l.Title = fmt.Sprintf("%s (%s): started %s, %s, by %s", sync.Application, stepName(sync.Step, sync.Wave),
		clock(sync.StartedAt), took, sync.who())
	if sync.Unclear != "" {
		l.Class, l.Text = "unclear", screen.SignWaiting+" unclear"
		l.Title += ". Unclear: " + sync.Unclear.Text()
	}
	for _, e := range r.Early {
		if e.Application == sync.Application {
			l.Class, l.Text = "early", e.label()
			if e.Verdict == ByHand {
				l.Class = "hand"
			}
			l.Title += ". " + e.sentence()
		}
	}
	l.place()
	return l
}

// label says in a few words how early a sync was.
func (e *Early) label() string {
	text := "before an earlier " + stepKind(e.Wave) + " was done"
	if e.Seconds != nil {
		text = span(*e.Seconds) + " too early"
	}
	if e.Verdict == ByHand {
		return "⚠ " + text + ", by hand"
	}
	return "✖ " + text
}

// place puts the text behind the bar, or before it, or into it.
func (l *lane) place() {
	room := float64(letterWidth * len([]rune(l.Text)))
	switch {
	case l.X+l.Width+6+room <= labelWidth+barsWidth:
		l.TextX, l.Anchor = l.X+l.Width+6, "start"
	case l.X-6-room >= labelWidth:
		l.TextX, l.Anchor = l.X-6, "end"
	default:
		l.TextX, l.Anchor = l.X+6, "start"
		if l.Text != "" {
			l.Class += " inside"
		}
	}
}

// ticks are times on the axis.
func (s scale) ticks() []tick {
	layout := "15:04:05"
	if s.to.Sub(s.from) > 24*time.Hour {
		layout = "01-02 15:04"
	}
	all := make([]tick, 0, ticks+1)
	for i := range ticks + 1 {
		at := s.from.Add(s.to.Sub(s.from) * time.Duration(i) / ticks)
		anchor := "middle"
		if i == ticks {
			anchor = "end"
		}
		all = append(all, tick{X: labelWidth + float64(barsWidth*i)/ticks, Text: at.UTC().Format(layout), Anchor: anchor})
	}
	return all
}
