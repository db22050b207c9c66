// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// Advice is what the rule says about a reason, without the marks of Markdown.
type Advice struct {
	// Means says what the reason stands for.
	Means string
	// Do says what to do about it. It may be empty.
	Do string
}

// Subject is what the commands of an Advice are about. Step is the number that people call the step by.
type Subject struct {
	Application, Namespace, ApplicationSet string
	Step                                   int
}

// AdviceOn is what the rule says about a reason, with the names of the subject in its commands.
func AdviceOn(reason policy.Reason, at Subject) Advice {
	means, do := reason.Advice()
	name := func(text string) string {
		if at.ApplicationSet != "" {
			text = verbs.ReplaceAllString(text, "$0 "+at.ApplicationSet+" -n "+at.Namespace+" --step "+strconv.Itoa(at.Step))
		}
		return placeholder.ReplaceAllString(text, at.Application)
	}
	return Advice{Means: name(first(plain(means))), Do: name(plain(do))}
}

// doAbout is what to do about a blocker: what the rule knows of it, or else what it says about the reason.
func doAbout(b policy.Blocker) string {
	if b.Next != "" {
		return b.WayOut()
	}
	do := Do(b.Reason, b.Named())
	if orphan := b.OrphanWayOut(); orphan != "" {
		do += " Or " + orphan + "."
	}
	return do
}

// Do is what to do about an Application that is not done.
func Do(reason policy.Reason, app string) string {
	return AdviceOn(reason, Subject{Application: app}).Do
}

var (
	verbs       = regexp.MustCompile(`\bstepgate (resume|approve)\b`)
	placeholder = regexp.MustCompile(`\bAPP\b`)
	aside       = regexp.MustCompile(` \(\[[^\]]+\]\([^)]*\)\)`)
	link        = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
)

// first is as many sentences of a text as people read.
func first(text string) string {
	const most = 2
	sentences := strings.SplitAfter(text, ". ")
	return strings.TrimSpace(strings.Join(sentences[:min(len(sentences), most)], ""))
}

// plain takes the marks of Markdown out of a text, and references to other pages.
func plain(text string) string {
	text = aside.ReplaceAllString(text, "")
	text = link.ReplaceAllString(text, "$1")
	text = strings.NewReplacer("`", "", "*", "").Replace(text)
	return text
}
