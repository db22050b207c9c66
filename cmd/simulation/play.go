// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// schedule has the events of the scenario happen.
func (w *world) schedule() (last time.Duration) {
	for _, e := range w.scenario.Events {
		last += e.After
		w.after(last-w.now, func() {
			w.logf("* %s", e.Do)
			w.happen(strings.Fields(e.Do))
			w.noteAll()
		})
	}
	return last
}

// happen plays one event. What makes no sense at the moment, such as a refresh of an Application that is gone, does
// nothing.
//
//	commit BRANCH APPS [EFFECT [APP=EFFECT...]]   a commit that changes some ("dev,prod"), "all" or "none" lands; effects are in git.go
//	revert BRANCH                 the branch points to the revision before its present one again
//	try APP                       somebody syncs an Application of the first step to a commit that is on no branch, by its revision
//	merge BRANCH                  that commit lands
//	refresh APP                   the refresh annotation, as users and git webhooks set it
//	githook BRANCH                the same for everybody who deploys the branch, in some order
//	values | destination | around the template changes a parameter, the destination's namespace, or ignoreDifferences and then managedNamespaceMetadata
//	parameter APP                 the generator gives an Application another parameter
//	image APP                     an image updater writes such a parameter into an Application
//	recreate                      the ApplicationSet is deleted without its Applications, and created again at once
//	label APP STEP | add APP STEP | remove APP      the generator gives an Application another step, a new one, or no more
//	relabel APP STEP              a user writes its label, until the ApplicationSet controller writes it again
//	retrack APP TRACK             the same of its label track
//	invalid APP | valid APP       the ApplicationSet controller cannot write it, or can again
//	leftover APP                  a resource of it has to be pruned, and nobody does: it is OutOfSync for good
//	local APP | foreign APP       a user syncs manifests of his own, or another source; that is denied in later steps
//	dryrun APP                    a user makes a dry run
//	part APP | partial APP        in the first step, a user syncs one resource: one that is as it should be, or the only one that differs
//	terminate APP                 a user terminates the operation that runs
//	sync APP | rollback APP [N]   argocd-server writes an operation for a user: to HEAD, or to what it ran before, or N before that
//	named APP POSITION N          the same to HEAD, but the source at a position, which is 1 or 2, to N states before that
//	drift APP | crash APP | recover APP             somebody changes the cluster; what is deployed fails or gets well again
//	failing APP N                 the next N syncs fail
//	slow compare|sync APP D       the next one takes longer by D
//	slow write APP D              the ApplicationSet controller's next write of its spec takes longer by D
//	slow answer APP D             the ApplicationSet controller's next write that changes nothing is answered after D
//	slow cluster APP D            what the next sync changes in the cluster is seen by the application controller D later
//	slow watch WHO D              the next event is delivered later by D: applicationset, application or stepgate
//	window APP D                  a sync window is closed for D, and stepgate does not know
//	closes APP D                  the same, and stepgate knows
//	annotate NAME [TEXT...]       a user sets an annotation stepgate.io/NAME of the ApplicationSet, such as pause or soak, or removes it
//	approval APP USER [before]    a user approves what Argo CD compared an Application with, or what it has deployed
//	approver USER                 somebody approves, from now on, everything that waits for an approval
//	byhand APP                    somebody syncs it, from now on, within 20 s after the earlier steps are done
//	evidence NAME SAYS OF         the object NAME says yes, no or nothing of a revision, is "leaving", or "gone"; OF is an Application, for what it was compared with, or BRANCH~N
//	tester NAME SAYS D            somebody tests, from now on, everything that waits for evidence, and takes D for it
//	runs SAYS D                   what the AnalysisRuns say from now on that stepgate has created, and after how long
//	bypass D                      everything is let through for D
//	hydration APP fails|works     the hydrator
//	restart stepgate|application|applicationset
//	restart due                   of a replica of stepgate at the moment at which it was going to look again
//	restart all                   of all replicas of stepgate
//	kill                          of all replicas of stepgate: none gives up its Lease, or writes what is left
//	amid APP                      the same, in the middle of its next sync
//	outage D                      the API server cannot reach the mutating webhook for D: it goes on without it
func (w *world) happen(words []string) {
	words = append(words, "", "", "")
	verb, args := words[0], words[1:]
	if !slices.Contains(undisturbing, verb) {
		w.disturbed = w.now
	}
	if b := w.branches[args[0]]; b != nil && slices.Contains([]string{"commit", "revert", "merge", "githook"}, verb) {
		w.inGit(verb, b, args)
		return
	}
	if m := w.members[args[0]]; m != nil {
		w.toMember(verb, m, args)
		return
	}
	switch verb {
	case "annotate":
		w.annotate(args[0], strings.TrimSpace(strings.Join(args[1:], " ")))
	case "evidence":
		w.testify(args[0], args[1], args[2])
	case "tester":
		w.tests(tester{args[0], args[1], duration(args[2])})
	case "runs":
		w.evidence.run = tester{says: args[0], after: duration(args[1])}
	case "approver":
		w.approvesAll(args[0])
	case "bypass":
		w.bypass(duration(args[0]))
	case "values", "destination", "around":
		map[string]*series{"values": w.values, "destination": w.destination, "around": w.around}[verb].change(w.now)
		w.regenerate()
	case "recreate":
		w.recreate()
	case "add":
		w.add(args[0], number(args[1]))
	case "slow":
		w.slow(args)
	case "outage":
		w.unusual = true
		w.outageUntil = max(w.outageUntil, w.now+duration(args[0]))
	case "kill":
		w.gate.Kill()
	case "restart":
		w.restart(args[0])
	}
}

// undisturbing are the events that end a condition, or nothing.
var undisturbing = []string{
	"restart", "kill", "annotate", "closes", "approval", "approver", "byhand", "bypass", "evidence", "tester", "runs",
}

func (w *world) inGit(verb string, b *branch, args []string) {
	head := b.states[b.head()].revision
	switch verb {
	case "commit":
		revision := w.commit(b, head, w.paths(args[1]), effects[args[2]])
		for _, word := range args[2:] {
			if name, e, own := strings.Cut(word, "="); own {
				w.contents[w.trees[revision][name]] = effects[e]
			}
		}
		b.push(revision, w.now)
		w.tell(Observation{Kind: Landed, Text: revision})
	case "revert":
		if back := max(number(args[1]), 1); b.head() >= back {
			b.push(b.states[b.head()-back].revision, w.now)
		}
	case "merge":
		if b.tried != "" && b.tried != head {
			b.push(b.tried, w.now)
		}
	case "githook":
		for i, name := range w.names {
			if slices.ContainsFunc(w.members[name].sources, func(s *branch) bool { return s == b || s.dry == b }) {
				w.after(w.delay(time.Duration(len(w.names)-i)*20*time.Millisecond), func() {
					w.askRefresh(name, "the git webhook")
				})
			}
		}
	}
	for _, name := range w.names {
		w.note(w.members[name])
	}
}

// paths are the folders that a commit changes. The values of all are in the folder "values".
func (w *world) paths(who string) []string {
	switch who {
	case "all":
		return append(slices.Clone(w.names), "values")
	case "none", "":
		return nil
	}
	return strings.Split(who, ",")
}

func (w *world) toMember(verb string, m *member, args []string) {
	switch verb {
	case "refresh":
		w.askRefresh(m.name, "somebody")
	case "label", "add":
		w.add(m.name, number(args[1]))
	case "remove":
		w.setStep(m, 0)
	case "sync":
		w.userSync(m, w.heads(m))
	case "try":
		w.try(m)
	case "rollback":
		w.rollback(m, number(args[1]))
	case "drift":
		m.live.drifted = m.live.exists
		w.app.liveChanged(m.name)
	case "crash":
		w.become(m, "Degraded")
	case "recover":
		w.become(m, "Healthy")
	case "byhand":
		w.byHand(m)
	case "failing":
		m.failing = number(args[1])
	case "window":
		m.windowUntil = w.now + duration(args[1])
	case "closes":
		w.conditions.note("window")
		m.closes(w.now + duration(args[1]))
	case "approval":
		w.approve(m, args[1], args[2] == "before")
	case "parameter":
		if m.generated > 0 && m.sources[0].dry == nil && !m.imaged {
			m.parameter.change(w.now)
			w.regenerate()
		}
	case "image":
		w.updateImage(m)
	case "relabel":
		w.relabel(m, "step", strconv.Itoa(number(args[1])))
	case "retrack":
		w.relabel(m, "track", args[1])
	case "invalid", "valid":
		m.invalid = verb == "invalid"
		m.family.controller.wake()
	case "leftover":
		m.leftover = !w.traits.legacy // 3.2 would sync it again and again, for ever
		w.app.liveChanged(m.name)
	case byLocal:
		w.syncSpecially(m, verb)
		w.syncOwn(m, true)
	case byDryRun, byPart, byPartial:
		w.syncSpecially(m, verb)
	case "amid":
		m.amid = true
	case "named":
		w.userSync(m, w.named(m, number(args[1]), number(args[2])))
	case "terminate":
		w.terminate(m, somebody)
	case "foreign":
		w.syncOwn(m, false)
	case "hydration":
		m.hydrationFails = args[1] == "fails"
	}
}

// add makes the generator give an Application, in this step.
func (w *world) add(name string, step int) {
	if step < 1 || step > len(w.scenario.steps()) || name == "" {
		return
	}
	m := w.members[name]
	if m == nil {
		m = w.addMember(name, step)
		m.truth.reached, m.truth.ran = nothing(), nothing()
		m.generated = 0
	}
	w.setStep(m, step)
}

func (w *world) setStep(m *member, step int) {
	if m.generated == step {
		return
	}
	m.generated, m.settled = step, w.now
	w.regenerate()
}

func (w *world) slow(args []string) {
	if args[0] == "watch" {
		w.unusual = true
		w.lags[args[1]] += duration(args[2])
		return
	}
	m := w.members[args[1]]
	if m == nil {
		return
	}
	w.unusual = w.unusual || w.scenario.Start
	switch args[0] {
	case "write":
		m.slowWrite = duration(args[2])
	case "answer":
		m.slowAnswer = duration(args[2])
	case "cluster":
		m.slowCluster = duration(args[2])
	case "compare":
		m.slowCompare += duration(args[2])
	default:
		m.slowSync += duration(args[2])
	}
}

func (w *world) restart(who string) {
	switch who {
	case "stepgate":
		w.restarted = w.now
		w.gate.Restart(w.api.version)
	case "all":
		w.restartAll()
	case "due":
		w.conditions.restarts++
	case "application":
		w.app.restart()
	case "applicationset":
		for _, f := range w.families {
			f.controller.wake()
		}
	}
}

// restartAll starts every replica of stepgate again, one right after the other.
func (w *world) restartAll() {
	w.restarted = w.now
	for n := range w.scenario.Replicas {
		w.gate.Restart(n)
	}
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func duration(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

// short is the last word of an account.
