// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Who asks for syncs.
const (
	serverAccount   = "system:serviceaccount:argocd:argocd-server"
	setAccount      = "system:serviceaccount:argocd:argocd-applicationset-controller"
	stepgateAccount = "system:serviceaccount:stepgate:stepgate"
	person          = "alice"
)

// ask is who asks for a sync, and for which.
type ask uint8

const (
	// byController names no revision. byPerson names one, with its source, as argocd-server does for a sync and for a rollback.
	byController ask = iota
	byPerson
	dryRun
)

func (a ask) String() string {
	return [...]string{
		"a sync by the ApplicationSet controller", "a sync by a person", "a dry run",
	}[a]
}

// account is who writes it.
func (a ask) account() string {
	if a == byController {
		return setAccount
	}
	return serverAccount
}

// operation is what is written.
func (a ask) operation(app *argo.Application, r revision) *argo.Operation {
	source := app.Spec.GetSource()
	sync := &argo.SyncOperation{Revision: r.text(), Source: &source}
	switch a {
	case byController:
		return &argo.Operation{
			InitiatedBy: argo.OperationInitiator{Username: "applicationset-controller", Automated: true},
			Info: []*argo.Info{{
				Name: "Reason", Value: "ApplicationSet RollingSync triggered a sync of this Application resource",
			}},
			Sync: &argo.SyncOperation{}, Retry: argo.RetryStrategy{Limit: 5},
		}
	case dryRun:
		sync.DryRun = true
	case byPerson:
	}
	return &argo.Operation{InitiatedBy: argo.OperationInitiator{Username: person}, Sync: sync}
}

// isPersons reports whether a person has started an operation.
func isPersons(text opText) bool {
	op := text.decode()
	return op.InitiatedBy.Username == person
}

// granted is a sync that would be admitted now.
type granted struct {
	app      int8
	ask      ask
	revision revision
}

// same reports whether a move starts the same.
func (x granted) same(m move) bool {
	return m.kind == starts && m.app == x.app && m.revision == x.revision
}

// needs reports whether a sync does anything: one of what has been deployed, and is well, does not.
func (w *world) needs(x granted) bool {
	c, t, op := &w.cluster[x.app], &w.truth[x.app], &w.apps[x.app].operation
	return t.synced != x.revision || c.revision != x.revision || c.pending || c.health != healthy || op.phase != succeeded
}

func (x granted) move() move {
	return move{kind: starts, app: x.app, how: uint8(x.ask), revision: x.revision}
}

// gate is stepgate as the world meets it: webhook.Mutator and webhook.Gate on judge.Judge and cluster.Reader, which are
// made anew for each state, and told what stepgate was told.
type gate struct {
	*objects
	rule    Rule
	records records
	set     *argo.ApplicationSet
	project *argocd.ApplicationSet
	// known are the syncs that are admitted in a state, and
	known map[key][]granted
	// stores are the operations that come of them.
	stores map[writing]*stored
	// judged counts the requests, and confirms those that the handlers have answered as well.
	judged, confirms int
	// visible counts the states that differ for stepgate, and hits all that were asked about.
	visible, hits int
}

// Rule is how stepgate is run.
type Rule struct {
	Pin   settings.Pin
	Start bool
	// Live is a damage, for tests: what it returns is read instead of the live Applications, given those and the known ones.
	Live func(live, known *argocd.Projection) *argocd.Projection
	// Past is another one: it changes what stepgate remembers of an Application.
	Past func(past *policy.Past)
	// Open is a third one: everything is admitted.
	Open bool
}

func newGate(rule Rule) *gate {
	g := &gate{
		objects: &objects{all: map[application]*object{}}, rule: rule, records: newRecords(), set: newSet(),
		known: map[key][]granted{}, stores: map[writing]*stored{},
	}
	g.project = argocd.NewApplicationSet(g.set)
	return g
}

// newSet is the ApplicationSet. Its status stays as it was before the first event.
func newSet() *argo.ApplicationSet {
	set := &argo.ApplicationSet{}
	set.Name, set.Namespace, set.UID, set.ResourceVersion = setName, namespace, setUID, "1"
	rolling := &argo.ApplicationSetRolloutStrategy{}
	for i, name := range names {
		step := []string{"1", "2", "3"}[i]
		rolling.Steps = append(rolling.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: "step", Operator: "In", Values: []string{step}}},
		})
		at := began
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: name, Step: step, Status: argo.ProgressiveSyncWaiting, LastTransitionTime: &metav1.Time{Time: at},
		})
	}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: rolling}
	return set
}

// asks are those that are made in a state. Nobody holds up the first step. A person names any commit: that a controller
// asks only ever makes the rule stricter, but that it has the Mutator choose the commit.
func (g *gate) asks(w *world) (all []granted) {
	for i := int8(1); int(i) < len(names); i++ {
		if w.apps[i].operates() {
			continue
		}
		all = append(all, granted{i, byController, none})
		for r := range w.git + 1 {
			all = append(all, granted{i, byPerson, r})
		}
	}
	return all
}

// ofFirst are the syncs of the first step, which are all admitted: of the newest commit, or of one that it has run. The
// controller asks for what is compared, and not again for what has run.
func (w *world) ofFirst() (all []granted) {
	if w.apps[0].operates() {
		return nil
	}
	by := byPerson
	if w.apps[0].at == w.git && w.truth[0].synced != w.git {
		by = byController
	}
	all = append(all, granted{0, by, w.git})
	for r := range w.git {
		if w.truth[0].ran&(1<<r) != 0 {
			all = append(all, granted{0, byPerson, r})
		}
	}
	return all
}

// admitted are the syncs that stepgate admits in a state, that k stands for as far as stepgate can know. kept says that they are asked
// for again.
func (g *gate) admitted(w *world, k key, kept bool) []granted {
	all, known := g.known[k]
	if g.hits++; known && g.hits%confirmed != 0 {
		return all
	}
	before := all
	all = nil
	for _, x := range g.asks(w) {
		next := g.judge(w, x)
		g.confirmSome(w, x, next)
		if next != nil {
			all = append(all, granted{x.app, x.ask, next.revision})
		}
	}
	switch {
	case known && !slices.Equal(all, before):
		panic(fmt.Sprintf("%v and %v are admitted in two states that are taken for one", before, all))
	case known:
		return all
	case kept:
		g.known[k] = all
	}
	g.visible++
	return all
}

// written is the operation that is stored for a sync that is admitted.
func (g *gate) written(w *world, m move) opText {
	x := granted{m.app, ask(m.how), m.revision}
	if x.ask == byController {
		x.revision = none
	}
	next := g.judge(w, x)
	if next == nil {
		panic(fmt.Sprintf("%s: not once more", m))
	}
	g.confirmSome(w, x, next)
	return next.text
}

// judge judges an operation as both webhooks do, by policy.Evaluate, and returns it as it is stored; nil if it is held or refused. To
// decode JSON would take a hundred times as long: confirm does that now and then.
func (g *gate) judge(w *world, x granted) *stored {
	app := w.apps[x.app]
	candidate := ""
	if x.ask == byController && x.app > 0 && g.rule.Start && g.rule.Pin == settings.PinCandidate {
		candidate = g.candidate(w, g.stored(app, x, ""))
	}
	next := g.stored(app, x, candidate)
	if g.rule.Open {
		return next
	}
	in := g.input(w, next)
	in.Siblings = g.siblings(w, false)
	d := policy.Evaluate(in)
	if d.Outcome == policy.Deny || x.ask == byController && policy.Repeated(in) {
		return nil
	}
	return next
}

// candidate is the other revision than the compared one that the Mutator pins an operation to; empty if there is none.
func (g *gate) candidate(w *world, s *stored) string {
	in := g.input(w, s)
	in.Target, in.Siblings = s.asked, g.siblings(w, true)
	if best, _ := policy.Best(policy.Candidates(in)); !best.Compared {
		return best.Revisions()[0]
	}
	return ""
}

// siblings are all Applications in their steps, live or as last watched.
func (g *gate) siblings(w *world, known bool) []policy.Sibling {
	all := make([]policy.Sibling, len(names))
	for i := range all {
		p := w.apps[i].projection
		switch {
		case known:
			p = w.seen[i].projection
		case g.rule.Live != nil:
			p = g.rule.Live(p, w.seen[i].projection)
		}
		all[i] = policy.Sibling{Application: &p.Application, Step: i, RecordedStep: i + 1}
	}
	return all
}

// input is what judge.Judge makes a decision of, with what stepgate remembers.
func (g *gate) input(w *world, s *stored) policy.Input {
	in, record := s.in, w.memory[s.app].record
	in.Now = (w.now + gap).time()
	changed, known := record.Changed(in.Target.Compared, s.fingerprint)
	if !known {
		changed = w.position
	}
	if s.other != none {
		changed = w.asked[s.app][s.other]
	}
	compared, known := record.ComparedAt(in.Target.ReconciledAt)
	if !known {
		compared = w.position
	}
	found := record.Found(s.operatedAt)
	in.History.Altered, in.History.Unproven = s.deploys.Altered(s.deployed, found)
	in.History.Deployed = s.deploys.Revised != "" &&
		(s.deploys.Revised == s.deployed.Revised || s.deploys.Revised == found.Revised)
	in.History.ContentSince, in.History.ByAnother, _ = record.ContentSince(s.spec)
	in.History.Of = func(name string) policy.Past {
		i := slices.Index(names[:], name)
		past := w.memory[i].record.Past(changed, compared)
		past.Step = i + 1
		if g.rule.Past != nil {
			g.rule.Past(&past)
		}
		return past
	}
	return in
}

// writing is an operation that is written on an Application as it is, and the revision that the Mutator pins it to, if that is not the
// compared one.
type writing struct {
	app *object
	granted
	candidate string
}

// stored is an operation as it is stored: pinned, and with its stamp.
type stored struct {
	app      int8
	text     opText
	revision revision
	// in is the part of the input that does not change, and asked the Target as it was sent.
	in    policy.Input
	asked policy.Target
	// other is its revision if the Application is not compared with that.
	other                   revision
	fingerprint             argocd.Fingerprint
	deployed, deploys, spec argocd.Content
	operatedAt              time.Time
}

func (g *gate) stored(old *object, x granted, candidate string) *stored {
	of := writing{old, x, candidate}
	s := g.stores[of]
	if s == nil {
		if len(g.stores) >= mostStores {
			clear(g.stores)
		}
		s = g.store(of)
		g.stores[of] = s
	}
	return s
}

// mostStores bounds the memory for operations.
const mostStores = 200_000

func (g *gate) store(of writing) *stored {
	_, req := request(of.app, of.granted)
	w, err := judge.NewWrite(req.AdmissionRequest, argocd.Tracking{})
	if err != nil {
		panic(err)
	}
	s := &stored{app: of.granted.app, asked: w.Target, other: none, fingerprint: argocd.NewFingerprint(&w.Old.Status.Sync)}
	if s.app > 0 && of.ask != dryRun {
		var revisions []string
		if of.candidate != "" {
			revisions = []string{of.candidate}
		}
		pin := argocd.NewPin(w.App, w.Old, revisions)
		w = w.With(pin.Pinned(w.App))
	}
	next, _ := argocd.Stamped(w.App, w.Old)
	w = w.With(next)
	s.text, s.revision = opText(encode(w.App.Operation.Operation)), revisionOf(w.App.Operation.Sync.Revision)
	if s.revision != of.app.at {
		s.other = s.revision
	}
	settings := g.process(nil).judge.Parser.OfWrite(g.project, w.Claim())
	s.in = g.process(nil).judge.Input(w, &g.project.ApplicationSet, settings, settings.After)
	s.deployed, s.deploys, s.spec, s.operatedAt = argocd.Deployed(w.App, w.Old)
	return s
}
