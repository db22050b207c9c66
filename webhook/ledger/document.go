// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/history"
)

// Version is that of the format. Each document begins with its version; one of another version counts for nothing.
const Version = 1

const (
	// mostApplications is how many Applications one document has, and mostCompletions how many completions each has.
	mostApplications = 500
	mostCompletions  = 20
	// mostSources bounds the sources of one completion, and longestText a text that is not of a source.
	mostSources = 100
	longestText = 256
	// mostRan bounds the history of an Application: Argo CD keeps ten syncs, unless it is told otherwise. It bounds the
	// order of its comparisons as well.
	mostRan = 100
)

// Document is what one ConfigMap keeps of the Applications of an ApplicationSet. An ApplicationSet with many has several
// parts. Times are Unix seconds, rounded so that they never make a decision more permissive; 0 is none.
type Document struct {
	Version int `json:"version"`
	// UID is that of the ApplicationSet, and Set is its namespace/name, for people.
	UID types.UID `json:"uid"`
	Set string    `json:"set"`
	// Part is its number, from 0.
	Part int `json:"part"`
	// Sources are those of all completions, each once.
	Sources      []Sources     `json:"sources,omitempty"`
	Applications []Application `json:"applications"`
}

// Sources are the sources of one completion: key and revision of each.
type Sources [][2]string

// Application is history.Kept of one Application. Ran and Compared are positions among Document.Sources.
type Application struct {
	UID          types.UID       `json:"uid"`
	Name         string          `json:"name"`
	OperatedAt   int64           `json:"operated,omitempty"`
	FullAt       int64           `json:"full,omitempty"`
	Idle         bool            `json:"idle,omitempty"`
	Ran          []int           `json:"ran,omitempty"`
	Newest       int64           `json:"newest,omitempty"`
	Compared     []int           `json:"compared,omitempty"`
	HealthySince int64           `json:"healthy,omitempty"`
	Parameters   string          `json:"parameters,omitempty"`
	Around       string          `json:"around,omitempty"`
	Found        *argocd.Content `json:"found,omitempty"`
	Broken       bool            `json:"broken,omitempty"`
	BrokenAt     int64           `json:"brokenAt,omitempty"`
	AppliedAt    int64           `json:"applied,omitempty"`
	Completions  []Completion    `json:"completions,omitempty"`
}

// Completion is policy.Completion. Of is the position of its sources among Document.Sources.
type Completion struct {
	Of         int    `json:"of"`
	OperatedAt int64  `json:"operated,omitempty"`
	Since      int64  `json:"since,omitempty"`
	Seen       int64  `json:"seen,omitempty"`
	By         string `json:"by,omitempty"`
	Altered    bool   `json:"altered,omitempty"`
	Doubted    bool   `json:"doubted,omitempty"`
}

// table numbers the sources of a document.
type table struct {
	all []Sources
	of  map[string]int
}

func (t *table) number(sources []policy.Source) int {
	key := fmt.Sprint(sources)
	at, known := t.of[key]
	if !known {
		at = len(t.all)
		t.of[key] = at
		one := make(Sources, 0, len(sources))
		for _, s := range sources {
			one = append(one, [2]string{s.Key, s.Revision})
		}
		t.all = append(t.all, one)
	}
	return at
}

// add adds what is kept of an Application: of its completions, the newest ones.
func (d *Document) add(t *table, uid types.UID, name string, k *history.Kept, most int) {
	a := Application{
		UID: uid, Name: name, OperatedAt: down(k.OperatedAt), FullAt: down(k.FullAt), Idle: k.Idle, Newest: k.Newest,
		HealthySince: down(k.HealthySince), Parameters: k.Parameters, Around: k.Around, Broken: k.Broken,
		BrokenAt: up(k.BrokenAt), AppliedAt: down(k.AppliedAt),
	}
	for _, s := range k.Ran[max(0, len(k.Ran)-mostRan):] {
		a.Ran = append(a.Ran, t.number([]policy.Source{s}))
	}
	for _, s := range k.Compared {
		if len(s) <= mostSources {
			a.Compared = append(a.Compared, t.number(s))
		}
	}
	if k.Found != (argocd.Content{}) {
		a.Found = &k.Found
	}
	for _, c := range newest(k.Completions, most) {
		a.Completions = append(a.Completions, Completion{
			Of: t.number(c.Sources), OperatedAt: down(c.OperatedAt), Since: up(c.Since), Seen: down(c.Seen), By: c.By,
			Altered: c.Altered, Doubted: c.Doubted,
		})
	}
	d.Applications = append(d.Applications, a)
}

// newest are the last completions, up to most, that fit into a document.
func newest(all []policy.Completion, most int) []policy.Completion {
	for i, c := range slices.Backward(all) {
		if len(all)-i > most || len(c.Sources) > mostSources || len(c.By) > longestText {
			return all[i+1:]
		}
	}
	return all
}

// kept is what a valid document says of an Application. What it was seen with later than now, by another clock, was seen
// now.
func (d *Document) kept(a *Application, now time.Time) *history.Kept {
	k := &history.Kept{
		OperatedAt: at(a.OperatedAt), FullAt: at(a.FullAt), Idle: a.Idle, Newest: a.Newest, HealthySince: at(a.HealthySince),
		Parameters: a.Parameters, Around: a.Around, Broken: a.Broken, BrokenAt: at(a.BrokenAt), AppliedAt: at(a.AppliedAt),
	}
	if a.Found != nil {
		k.Found = *a.Found
	}
	for _, of := range a.Ran {
		k.Ran = append(k.Ran, d.Sources[of].policy()...)
	}
	for _, of := range a.Compared {
		k.Compared = append(k.Compared, d.Sources[of].policy())
	}
	for _, c := range a.Completions {
		seen := at(c.Seen)
		if seen.After(now) {
			seen = now
		}
		k.Completions = append(k.Completions, policy.Completion{
			Sources: d.Sources[c.Of].policy(), OperatedAt: at(c.OperatedAt), Since: at(c.Since), Seen: seen, By: c.By,
			Altered: c.Altered, Doubted: c.Doubted,
		})
	}
	return k
}

func (s Sources) policy() []policy.Source {
	all := make([]policy.Source, 0, len(s))
	for _, one := range s {
		all = append(all, policy.Source{Key: one[0], Revision: one[1]})
	}
	return all
}

// validate says what is wrong with a document that was read.
func (d *Document) validate(now time.Time) error {
	switch {
	case d.Part < 0 || len(d.Applications) > 2*mostApplications:
		return errors.New("it has more Applications than stepgate writes")
	case slices.ContainsFunc(d.Sources, func(s Sources) bool { return len(s) == 0 || len(s) > mostSources }):
		return errors.New("a completion has no sources, or too many")
	}
	seen := make(map[types.UID]bool, len(d.Applications))
	for i := range d.Applications {
		a := &d.Applications[i]
		if a.UID == "" || seen[a.UID] {
			return fmt.Errorf("Application %q has no UID, or that of another one", cut(a.Name))
		}
		seen[a.UID] = true
		if err := a.validate(len(d.Sources), now); err != nil {
			return fmt.Errorf("Application %q: %w", cut(a.Name), err)
		}
	}
	return nil
}

func (a *Application) validate(sources int, now time.Time) error {
	if len(a.Completions) > mostCompletions || len(a.Ran) > mostRan || len(a.Compared) > mostRan {
		return errors.New("it has more completions than stepgate writes")
	}
	missing := func(of int) bool { return of < 0 || of >= sources }
	if slices.ContainsFunc(a.Ran, missing) || slices.ContainsFunc(a.Compared, missing) {
		return errors.New("its history has no sources")
	}
	texts := []string{string(a.UID), a.Name, a.Parameters, a.Around}
	if a.Found != nil {
		texts = append(texts, a.Found.Revised, a.Found.Parameters, a.Found.Around)
	}
	for _, c := range a.Completions {
		if missing(c.Of) {
			return errors.New("a completion has no sources")
		}
		if at(c.Since).After(now.Add(mostSkew)) || at(c.OperatedAt).After(now.Add(mostSkew)) {
			return errors.New("a completion is of the future")
		}
		texts = append(texts, c.By)
	}
	if slices.ContainsFunc(texts, func(s string) bool { return len(s) > longestText }) {
		return errors.New("a text is longer than stepgate writes")
	}
	return nil
}

// mostSkew is how far clocks may be apart.
const mostSkew = time.Minute

// down and up are a time in seconds, before and after it.
func down(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func up(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Add(time.Second - 1).Unix()
}

func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

func cut(s string) string { return s[:min(len(s), longestText)] }
