// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// A scenario is an Input on one line: the siblings, then ">" and the target, then "|" and what is special about the
// ApplicationSet (argocd/guestbook, four steps). "1:dev 2:qa=Degraded > 3:prod" is a sync of prod, in step 3, while dev
// is done and qa is Degraded.
//
//	Application  STEP:NAME[=HEALTH[/SYNC]][@REVISIONS][,FLAG...]    step 0 is no step at all
//	REVISIONS    what it was compared with: "b" is the common repository at b, "lib:b" another source, "a+lib:b" both,
//	             "dry:b" a dry source, "-" none. The default is "a", for siblings and target alike.
//	ApplicationSet  gone, deleting, other (strategy), empty (no steps), failing (its controller reports an error), and applicationStatus entries:
//	                NAME/STEP[/SECOND[/started]][@REVISIONS], with revisions where it is recorded as Healthy at them
//
// Times are seconds, such as 100 or 99.4. Everything is compared at second 100 unless "at:" says otherwise. Flags:
//
//	at:SECOND|never  nohealth  nosync                         when it was compared; a status that is missing
//	refresh  respec  deleting  reported                       the annotation is there, the spec is not compared yet, an agent reports it
//	op  running  terminating                                  an operation that is asked for or under way
//	ended:SECOND  failed:SECOND  error:SECOND                 the last operation: full, at the compared revision ...
//	partial  elsewhere  applied                               ... unless it was partial, or at another revision; it applied all
//	synced:SECOND  syncedold:SECOND  syncedelse:SECOND        the last successful full sync: of what is compared, of another
//	                                                          revision, of other sources
//	hydrating  hydrated  unhydrated  uncompared               the source hydrator's operation runs, has ended, has failed, has ended since
//	ran:REVISIONS  tried:REVISIONS  prune          the history; what users synced it to after that; compared, and
//	                                                          found in another namespace, with nothing left but to prune
//	fresh  later  moved  unproven  deployed                   seen: a refresh was answered since the change, and since the target's
//	                                                          comparison, another destination, unknown, Synced with what it deploys
//	incomplete  insync:REVISIONS  appliedbefore  failedbefore seen: never Healthy after the syncs of the history; Synced with
//	                                                          these, and no operation since; its operation applied all, failed
//	healthy:SECOND  since:SECOND  by:USER                     Healthy since, what it runs was first deployed, who synced it last by hand
//	none  dryrun  unmanaged  auto  pinned  back  heal  foreign  target: no operation written, its kind, who controls it
//	dying                                                     target: it is being deleted
//	began:SECOND  respecified  mend                           target: when its last sync began, other sources than it ran,
//	                                                          OutOfSync since
//	wants:REVISIONS                                           target: explicit revisions
//	was:STEP  created                                         target: its step before the write, or there was none
func scenario(text string) policy.Input {
	text, special, _ := strings.Cut(text, "|")
	others, target, found := strings.Cut(text, ">")
	if !found {
		panic("a scenario needs a target: " + text)
	}
	in := policy.Input{ApplicationSet: guestbook()}
	past := map[string]policy.Past{}
	in.History.Of = func(name string) policy.Past { return past[name] }
	for _, word := range strings.Fields(others) {
		p := parse(word)
		in.Siblings = append(in.Siblings, policy.Sibling{Application: &p.sibling})
		seen := policy.Past{Altered: p.moved}
		if p.fresh {
			seen.Freshness = policy.Fresh
		}
		if p.later {
			seen.Freshness = policy.Newest
		}
		if p.applied {
			p.sibling.LastFull.StartedAt = second("40")
			seen.Applied = second("40")
		}
		if p.failedbefore {
			p.sibling.LastFull = policy.FullSync{Phase: "Failed", AtCompared: true}
		}
		if !p.incomplete {
			seen.Completions = completions(p.sibling.Ran[:len(p.sibling.Ran)-len(p.tried)])
		}
		if p.insync != nil {
			seen.Completions = append(seen.Completions, policy.Completion{
				Sources: p.insync, OperatedAt: p.sibling.LastOperation.StartedAt,
			})
		}
		past[p.sibling.Name] = seen
	}
	written := parse(strings.TrimSpace(target))
	in.Target = written.target
	in.History.Altered, in.History.Unproven, in.History.Deployed = written.moved, written.unproven, written.deployed
	for _, word := range strings.Fields(special) {
		in.ApplicationSet = edited(in.ApplicationSet, word)
	}
	inSteps(&in)
	return in
}

// completions are what a history has deployed, one after the other.
func completions(ran []policy.Source) []policy.Completion {
	var all []policy.Completion
	var content []policy.Source
	for _, s := range ran {
		content = append(slices.DeleteFunc(slices.Clone(content), func(c policy.Source) bool { return c.Key == s.Key }), s)
		all = append(all, policy.Completion{Sources: content, OperatedAt: second("1")})
	}
	return all
}

// inSteps gives the siblings their steps again after an edit.
func inSteps(in *policy.Input) {
	for i, sibling := range in.Siblings {
		in.Siblings[i] = siblingOf(in.ApplicationSet, sibling.Application)
	}
}

func siblingOf(set *policy.ApplicationSet, a *policy.Application) policy.Sibling {
	if set == nil {
		return policy.Sibling{Application: a}
	}
	return set.Sibling(a)
}

func guestbook() *policy.ApplicationSet {
	set := &policy.ApplicationSet{Namespace: "argocd", Name: "guestbook", UID: "u1", RollingSync: true}
	for _, value := range []string{"1", "2", "3", "4"} {
		set.Steps = append(set.Steps, policy.Step{{Key: "step", Operator: "In", Values: []string{value}}})
	}
	return set
}

func edited(set *policy.ApplicationSet, word string) *policy.ApplicationSet {
	switch word {
	case "gone":
		return nil
	case "deleting":
		set.Deleting = true
	case "other":
		set.RollingSync = false
	case "empty":
		set.Steps = nil
	case "failing":
		set.Failing = "no such project"
	default:
		if set.Recorded == nil {
			set.Recorded = map[string]policy.Recorded{}
		}
		word, healthyAt, healthy := strings.Cut(word, "@")
		entry := append(strings.Split(word, "/"), "0", "")
		r := policy.Recorded{
			Step: number(entry[1]), TransitionedAt: second(entry[2]), Started: entry[3] == "started" || healthy, Healthy: healthy,
		}
		for _, s := range sources(or(healthyAt, "-")) {
			r.Revisions = append(r.Revisions, s.Revision)
		}
		set.Recorded[entry[0]] = r
	}
	return set
}

// parsed is an Application of a scenario, which may stand on either side of the ">".
type parsed struct {
	sibling policy.Application
	target  policy.Target
	fresh   bool
	later   bool
	applied bool
	// failedbefore says that a sync of what is compared was seen to fail.
	failedbefore bool
	moved        bool
	unproven     bool
	deployed     bool
	// tried is what users have synced it to, at the end of its history.
	tried []policy.Source
	// insync is what it was seen Synced with, and not operated since.
	insync []policy.Source
	// incomplete says that it was not seen to be Healthy after the syncs of its history.
	incomplete bool
}

func parse(word string) *parsed {
	words := strings.Split(word, ",")
	head, revisions, _ := strings.Cut(words[0], "@")
	head, status, _ := strings.Cut(head, "=")
	step, name, _ := strings.Cut(head, ":")
	health, sync, _ := strings.Cut(status, "/")
	p := &parsed{sibling: policy.Application{
		Name: name, Labels: inStep(step), Health: or(health, "Healthy"), SyncStatus: or(sync, "Synced"),
		SpecCompared: true, ReconciledAt: second("100"), Compared: sources(or(revisions, "a")),
	}}
	p.target = policy.Target{
		OldLabels: p.sibling.Labels, Managed: true, Operation: policy.Operation{Written: true}, Wanted: p.sibling.Compared, SameSources: true,
	}
	for _, flag := range words[1:] {
		name, value, _ := strings.Cut(flag, ":")
		if !setFlag(&p.sibling, name, value) && !setTargetFlag(&p.target, name, value) && !p.setSeen(name, value) {
			panic("no such flag: " + flag)
		}
	}
	a := &p.sibling
	p.target.Name, p.target.Labels = a.Name, a.Labels
	p.target.SpecCompared, p.target.ReconciledAt, p.target.Compared, p.target.Ran = a.SpecCompared, a.ReconciledAt,
		a.Compared, a.Ran
	p.target.Hydration, p.target.Reported = a.Hydration, a.Reported
	return p
}

func setFlag(a *policy.Application, name, value string) bool {
	switch name {
	case "at":
		a.ReconciledAt = second(value)
	case "nohealth":
		a.Health = ""
	case "nosync":
		a.SyncStatus = ""
	case "refresh":
		a.RefreshRequested = true
	case "respec":
		a.SpecCompared = false
	case "reported":
		a.Reported = true
	case "deleting":
		a.Deleting = true
	case "op":
		a.OperationSet = true
	case "running", "terminating":
		a.LastOperation.Phase = title(name)
	case "ended":
		a.LastOperation = policy.LastOperation{Phase: "Succeeded", FinishedAt: second(value)}
		a.LastFull = policy.FullSync{Phase: "Succeeded", AtCompared: true, FinishedAt: second(value)}
	case "failed", "error":
		a.LastOperation = policy.LastOperation{Phase: title(name), FinishedAt: second(value)}
		a.LastFull = policy.FullSync{Phase: title(name), AtCompared: true, FinishedAt: second(value)}
	case "partial":
		a.LastFull = policy.FullSync{}
	case "elsewhere":
		a.LastFull.AtCompared = false
	case "patched":
		a.LastFull.Patched = true
	case "applied":
		a.LastFull.Applied = true
	case "synced", "syncedold", "syncedelse":
		a.LastSync = policy.LastSync{
			FinishedAt: second(value), AtCompared: name == "synced", SameSources: name != "syncedelse",
		}
	case "hydrating", "hydrated", "uncompared":
		a.Hydration = title(name)
	case "unhydrated":
		a.Hydration = "Failed"
	case "ran":
		a.Ran = sources(value)
	case "prune":
		a.OnlyPruning = true
	case "healthy":
		a.HealthSince = second(value)
	case "since":
		a.LastSync.Since = second(value)
	case "by":
		a.LastSync.By = value
	default:
		return false
	}
	return true
}

func setTargetFlag(t *policy.Target, name, value string) bool {
	switch name {
	case "none":
		t.Operation.Written = false
	case "dryrun":
		t.Operation.DryRun = true
	case "unmanaged":
		t.Managed = false
	case "auto":
		t.Operation.Automated = true
	case "pinned":
		t.Operation.Pinned = true
	case "began":
		t.SyncStartedAt = second(value)
	case "respecified":
		t.SameSources = false
	case "mend":
		t.OutOfSyncSince = true
	case "back":
		t.Operation.RollsBack = true
	case "wants":
		t.Wanted = sources(value)
	case "was":
		t.OldLabels = inStep(value)
	case "created":
		t.OldLabels = nil
	case "dying":
		t.Deleting = true
	case "foreign":
		t.Operation.Foreign = true
	case "heal":
		t.Operation.Pinned, t.Operation.Redeploys = true, true
	default:
		return false
	}
	return true
}

// setSeen sets what the watches have seen.
func (p *parsed) setSeen(name, value string) bool {
	switch name {
	case "insync":
		p.insync = sources(value)
	case "tried":
		p.tried = sources(value)
		p.sibling.Ran = append(p.sibling.Ran, p.tried...)
	case "fresh":
		p.fresh = true
	case "later":
		p.fresh, p.later = true, true
	case "moved":
		p.moved = true
	case "unproven":
		p.unproven = true
	case "deployed":
		p.deployed = true
	case "incomplete":
		p.incomplete = true
	case "failedbefore":
		p.failedbefore = true
	case "appliedbefore":
		p.applied = true
	default:
		return false
	}
	return true
}

func inStep(step string) map[string]string {
	return map[string]string{"step": strconv.Itoa(number(step))}
}

func sources(text string) []policy.Source {
	if text == "-" {
		return nil
	}
	var parsed []policy.Source
	for word := range strings.SplitSeq(text, "+") {
		key, revision, named := strings.Cut(word, ":")
		if !named {
			key, revision = "common", word
		}
		if key == "dry" {
			key = policy.DryPrefix + "common"
		}
		parsed = append(parsed, policy.Source{Key: key, Revision: revision})
	}
	return parsed
}

// second counts from a fixed moment; "never" and second 0 are the zero time.
func second(text string) time.Time {
	if text == "never" || text == "0" {
		return time.Time{}
	}
	after, err := time.ParseDuration(text + "s")
	if err != nil {
		panic(err)
	}
	return time.Date(2026, time.September, 21, 12, 0, 0, 0, time.UTC).Add(after)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// written is the short form in which a table wants blockers, such as "1:dev=NotHealthy 2:qa=NotCompleted".
func written(blockers []policy.Blocker) string {
	var words []string
	for _, b := range blockers {
		words = append(words, fmt.Sprintf("%d:%s=%s", b.Step+1, b.Application, b.Reason))
	}
	return strings.Join(words, " ")
}
