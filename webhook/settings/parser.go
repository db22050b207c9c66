// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/expression"
)

const (
	// maxBypass is how far ahead a bypass or an exclusion may reach.
	maxBypass = 24 * time.Hour
)

// Config is how an installation gates where no annotation says otherwise. Its zero value is the strictest, and honours
// no bypass in a sync.
type Config struct {
	Mode                  Mode
	Require               policy.Require
	GateRollbacks         bool
	AllowFailedOperations bool
	// Settling means the same as in policy.Settings.
	Settling time.Duration
	// ServerAccounts are the user names of argocd-server; only from them initiatedBy is believed.
	ServerAccounts []string
	// ApplicationSetAccounts are the user names of ApplicationSet controllers, beside every service account with the
	// usual name. Their early operations are held.
	ApplicationSetAccounts []string
	// BypassUsers are the Argo CD users who may bypass the gate in a sync of their own.
	BypassUsers []string
	// IgnoredAnnotations change nothing: ApplicationSets may use only the others of Annotations.
	IgnoredAnnotations []string
	// AfterNamespaces are the namespaces that AfterAnnotation may name beside its own.
	AfterNamespaces []string
	// VerifyNamespaces are the namespaces that VerifyAnnotation may name beside its own.
	VerifyNamespaces []string
	// Expressions compiles those of VerifyAnnotation, for all Parsers of a process. Nil compiles nothing.
	Expressions *expression.Compiler
	// FourEyes says that nobody approves what they have started.
	FourEyes bool
	// Presence says whether a gate answers for a namespace, for those who show rollouts. The gate itself has none.
	Presence func(namespace string) Presence
	// Pin says to which revisions operations are pinned.
	Pin Pin
	// Waves has parent Applications order their children, and Tracking finds these.
	Waves    bool
	Tracking argocd.Tracking
	// Hold lets an early write of a controller, or of a program that asks again, through without its operation. It needs
	// the mutating webhook.
	Hold bool
	// Release makes Argo CD ask again for a sync whose turn has come, and compare the siblings again that were compared
	// too early. It needs a Releaser.
	Release bool
	// Start has stepgate start what is due and Argo CD does not start.
	Start bool
	// MaxUpdate keeps the maxUpdate of steps, whoever starts a sync. It needs slots.
	MaxUpdate bool
	// Account is the user name of stepgate itself, if it starts syncs; else empty.
	Account string
}

// Presence says whether a gate answers. The zero value says that one does.
type Presence struct {
	// NoGate says why none does: then nothing is held or denied, whatever the mode.
	NoGate string
	// Problem is what else is wrong with the gate: nothing is let through because of it.
	Problem string
}

// Settings are how one ApplicationSet is gated, or one write to one of its Applications. They are made by a Parser, and
// not changed.
type Settings struct {
	policy.Settings
	Mode Mode
	// NoGate says why no gate answers where the mode would be enforce otherwise, and GateProblem is that of the Presence.
	NoGate, GateProblem string
	// Bypass names who or which annotation allowed the bypass, or says why a requested one is not honoured; empty where
	// nobody asks for one.
	Bypass string
	// Exclusion says which Applications hold nobody up for now, until when and why; empty when none is excluded.
	Exclusion string
	// After is what everything of the ApplicationSet comes after.
	After After
	// Verify are the entries of VerifyAnnotation. Those of the Conditions are the same.
	Verify []Verification
	// Problems are the annotations whose value could not be read, of which the stricter reading counts, and those that
	// are not allowed.
	Problems []Problem
}

// Problem says what is wrong with an annotation.
type Problem struct{ Annotation, Text string }

// String is the sentence that people read.
func (p Problem) String() string { return "annotation " + p.Annotation + " is " + p.Text }

// ProblemTexts are the sentences of the GateProblem and of the Problems.
func (s Settings) ProblemTexts() []string {
	var texts []string
	if s.GateProblem != "" {
		texts = append(texts, s.GateProblem)
	}
	for _, p := range s.Problems {
		texts = append(texts, p.String())
	}
	return texts
}

// meet takes in whether a gate answers: without one, the mode is no better than audit.
func (s *Settings) meet(p Presence) {
	if s.GateProblem = p.Problem; p.NoGate != "" && s.Mode == Enforce {
		s.Mode, s.NoGate = Audit, p.NoGate
	}
}

// Parser makes Settings.
type Parser struct {
	config Config
	clock  clock.PassiveClock
}

// NewParser returns a Parser of an installation; clock is that for the end of a bypass and of an exclusion.
func NewParser(config Config, clock clock.PassiveClock) *Parser {
	return &Parser{config: config, clock: clock}
}

// Claim is what an operation claims of who has started it, and who wrote it.
type Claim struct {
	// User is who sent the request; the API server has authenticated it.
	User string
	// InitiatedBy and Bypass are what the operation says. Bypass is empty if it asks for none.
	InitiatedBy, Bypass string
}

// OfWrite returns the Settings of a write: those of the ApplicationSet, and the bypass that the operation asks for.
// Without an ApplicationSet there is nothing to bypass.
func (p *Parser) OfWrite(set *argocd.ApplicationSet, claim Claim) Settings {
	s := p.Of(set)
	if set != nil && claim.Bypass != "" && !s.Bypassed {
		s.Bypassed, s.Bypass = p.bypassInSync(claim)
	}
	return s
}

// Of returns the Settings of an ApplicationSet; nil has none of its own. They name each annotation that cannot be read,
// and have the stricter reading: enforce, revision, no bypass, and every condition. One that is not allowed changes
// nothing.
func (p *Parser) Of(set *argocd.ApplicationSet) Settings {
	c := p.config
	s := Settings{Mode: c.Mode, Settings: policy.Settings{
		Require: c.Require, GateRollbacks: c.GateRollbacks, AllowFailedOperations: c.AllowFailedOperations,
		Settling: c.Settling,
	}}
	if set == nil {
		return s
	}
	a := &annotations{of: set, ignored: c.IgnoredAnnotations, expressions: c.Expressions}
	if text, ok := a.get(ModeAnnotation); ok {
		mode, err := ParseMode(text)
		s.Mode, s.Off = mode, mode == Off
		a.note(ModeAnnotation, err)
	}
	if c.Presence != nil {
		s.meet(c.Presence(set.Namespace))
	}
	if set.Parent() && !c.Waves && s.Mode == Enforce {
		s.Mode, s.NoGate = Audit, "this installation has parent Applications order nothing (waves.enabled of the chart)"
	}
	if text, ok := a.get(RequireAnnotation); ok {
		require, err := policy.ParseRequire(text)
		s.Require = require
		a.note(RequireAnnotation, err)
	}
	if text, ok := a.get(BypassAnnotation); ok {
		reason, err := p.untilAndWhy(text, "")
		s.Bypassed, s.Bypass = reason != "", reason
		a.note(BypassAnnotation, err)
	}
	if text, ok := a.get(ExcludeAnnotation); ok {
		names, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		reason, err := p.untilAndWhy(rest, "NAME,NAME ")
		if reason != "" {
			s.Excluded, s.Exclusion = namesIn(names), policy.ClientText(names+" "+reason)
		}
		a.note(ExcludeAnnotation, err)
	}
	pin := c.Pin
	if text, ok := a.get(PinAnnotation); ok {
		parsed, err := ParsePin(text)
		pin = parsed
		a.note(PinAnnotation, err)
	}
	s.Conditions = a.conditions(c.FourEyes)
	s.Verify, s.Conditions.Verify = a.verify(c.VerifyNamespaces)
	s.Track = a.track()
	a.note(WavesAnnotation, set.WavesProblem())
	a.note(MaxUpdateAnnotation, set.MaxUpdateProblem())
	s.After = a.after(set.Namespace, c.AfterNamespaces)
	s.Follows = len(s.After.Names) > 0 || s.After.Unreadable != ""
	s.Stamped = s.Mode == Enforce
	s.Candidates = pin == PinCandidate && s.Mode == Enforce
	s.Problems = slices.Concat(a.problems, Unreadable(set.Annotations))
	return s
}

// annotations reads the annotations of an ApplicationSet, and collects what is wrong with them.
type annotations struct {
	of          *argocd.ApplicationSet
	ignored     []string
	expressions *expression.Compiler
	problems    []Problem
}

// get returns an annotation, if it is allowed.
func (a *annotations) get(name string) (text string, ok bool) {
	if text, ok = a.of.Annotations.Get(name); ok && slices.Contains(a.ignored, name) {
		a.problems = append(a.problems, Problem{name, "ignored: this installation does not allow it (--allowed-annotations)"})
		return "", false
	}
	return text, ok
}

// Unreadable are the annotations that were not let in.
func Unreadable(all argocd.Annotations) (problems []Problem) {
	for _, name := range all.AllUnreadable() {
		problems = append(problems, Problem{name, all.Unreadable(name)})
	}
	return problems
}

// note notes what is wrong with an annotation, unless it is unreadable: Unreadable says that.
func (a *annotations) note(annotation string, err error) {
	if err != nil && a.of.Annotations.Unreadable(annotation) == "" {
		a.problems = append(a.problems, Problem{
			annotation, policy.ClientText("not valid, the stricter reading is used: " + err.Error()),
		})
	}
}

func namesIn(list string) map[string]bool {
	names := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		names[name] = true
	}
	return names
}

// untilAndWhy reads the end and the reason of an exemption, such as "2026-11-21T18:00:00Z INC-1", and returns them if it
// is in force now, or "". An expired one is no error. before is what the annotation has before them.
func (p *Parser) untilAndWhy(text, before string) (string, error) {
	until, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	end, err := time.Parse(time.RFC3339, until)
	now := p.clock.Now()
	switch {
	case err != nil:
		return "", fmt.Errorf("%.50q is not an RFC 3339 time: write \"%s%s REASON\"", until, before,
			now.UTC().Add(time.Hour).Format(time.RFC3339))
	case !end.After(now):
		return "", nil
	case end.After(now.Add(maxBypass)):
		return "", fmt.Errorf("%s is more than 24 h ahead", until)
	case reason == "":
		return "", fmt.Errorf("it has no reason: write \"%s%s REASON\"", before, until)
	}
	return policy.ClientText(fmt.Sprintf("until %s: %s", until, reason)), nil
}

// bypassInSync honours a bypass in the operation only from a user on the allow-list, and believes the operation's
// initiatedBy only when argocd-server wrote it.
func (p *Parser) bypassInSync(c Claim) (honoured bool, why string) {
	switch {
	case !slices.Contains(p.config.ServerAccounts, c.User):
		return false, policy.ClientText(fmt.Sprintf("%s not honoured: %s is not argocd-server", c.Bypass, c.User))
	case !slices.Contains(p.config.BypassUsers, c.InitiatedBy):
		return false, policy.ClientText(fmt.Sprintf("%s not honoured: user %q may not bypass (--bypass-user)", c.Bypass,
			c.InitiatedBy))
	}
	return true, policy.ClientText(fmt.Sprintf("%s by %s", c.Bypass, c.InitiatedBy))
}
