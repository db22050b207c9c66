// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// Chains generates random histories in which an ApplicationSet comes after another one, and a third one may come after
// both: those of Histories, of Conditions and of Trains, in which the usual ApplicationSet is one of the chain, with
// commits to the others.
func Chains(version string) *rapid.Generator[*simulation.Scenario] {
	return acted(ofChains(version))
}

func ofChains(version string) *rapid.Generator[*simulation.Scenario] {
	kinds := []*rapid.Generator[*simulation.Scenario]{ofHistories(version), ofConditions(version), ofTrains(version)}
	return rapid.Custom(func(t *rapid.T) *simulation.Scenario {
		s := pick(t, "kind", kinds...).Draw(t, "history")
		if s.Layout == "branches" || s.Layout == "values" {
			s.Layout = "own" // a branch for each step would be one of several ApplicationSets
		}
		if s.Version == "3.6" {
			s.Refuses = false // its controller tries again every 50 ms what is refused, for as long as the others take
		}
		others := []string{"net", "db"}[:rapid.IntRange(1, 2).Draw(t, "of infra")]
		for i, name := range others {
			s.Applications = append(s.Applications, simulation.Application{Name: name, Step: 1 + i, Set: "infra"})
		}
		s.Chain = []simulation.Link{{Set: "guestbook", After: []string{"infra"}}}
		switch pick(t, "chain", "after infra", "after infra", "before infra", "three") {
		case "before infra":
			s.Chain = []simulation.Link{{Set: "infra", After: []string{"guestbook"}}}
		case "three":
			s.Applications = append(s.Applications, simulation.Application{Name: "web", Step: 1, Set: "shop"})
			others = append(others, "web")
			s.Chain = append(s.Chain, simulation.Link{Set: "shop", After: pick(t, "after", []string{"guestbook"},
				[]string{"guestbook", "infra"})})
		}
		e := testifying{t: t, s: s}
		last := time.Duration(0)
		for _, event := range s.Events {
			last += event.After
		}
		for range rapid.IntRange(0, 5).Draw(t, "of others") {
			at := time.Duration(rapid.IntRange(0, int(last/time.Second)+1).Draw(t, "moment")) * time.Second
			name := pick(t, "other", others...)
			do := pick(t, "what", "commit", "commit", "commit", "refresh", "crash", "recover", "slow compare", "slow sync",
				"sync", "failing", "restart stepgate")
			switch do {
			case "commit":
				b := branches(&simulation.Scenario{Layout: s.Layout, Applications: []simulation.Application{{Name: name}}})[0]
				e.add(at, strings.TrimSpace(fmt.Sprintf("commit %s all %s", b, pick(t, "effect", "", "", "slow", "bad", "fails"))))
				e.add(at+pick(t, "told", 0, time.Second, 10*time.Second), "githook "+b)
			case "slow compare", "slow sync":
				e.add(at, fmt.Sprintf("%s %s %s", do, name, e.delay()))
			case "failing":
				e.add(at, "failing "+name+" 2")
			case "restart stepgate":
				e.add(at, do)
			default:
				e.add(at, do+" "+name)
			}
		}
		e.merge()
		if pick(t, "ends well", true, true, true, false) {
			for _, name := range slices.Concat(others, []string{"dev", "qa", "prod"}) {
				s.Events = append(s.Events, simulation.Event{After: time.Second, Do: "recover " + name})
			}
		}
		return s
	})
}
