package rollout

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/stepgate/stepgate/docs"
	"github.com/stepgate/stepgate/policy"
)

// Advice is what docs/decisions.md says about a reason.
type Advice struct {
	// Means says what the reason stands for.
	Means string
	// Do says what to do about it. It may be empty.
	Do string
}

var advice = sync.OnceValue(func() map[policy.Reason]Advice { return parse(docs.Decisions) })

// Place is what the commands of an Advice are about. Step is 1-based.
type Place struct {
	Application, Namespace, ApplicationSet string
	Step                                   int
}

// AdviceOn is what docs/decisions.md says about a reason, with the names of the place in its commands.
func AdviceOn(reason policy.Reason, at Place) Advice {
	a := advice()[reason]
	name := func(text string) string {
		if at.ApplicationSet != "" {
			text = verbs.ReplaceAllString(text, "$0 "+at.ApplicationSet+" -n "+at.Namespace+" --step "+strconv.Itoa(at.Step))
		}
		return placeholder.ReplaceAllString(text, at.Application)
	}
	return Advice{Means: name(a.Means), Do: name(a.Do)}
}

// doAbout is what to do about a blocker: what the rule knows of it, or else what the page says about the reason.
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
func Do(reason policy.Reason, app string) string { return AdviceOn(reason, Place{Application: app}).Do }

var (
	section     = regexp.MustCompile(`(?m)^### (\w+)\n`)
	verbs       = regexp.MustCompile(`\bstepgate (resume|approve)\b`)
	placeholder = regexp.MustCompile(`\bAPP\b`)
	aside       = regexp.MustCompile(` \(\[[^\]]+\]\([^)]*\)\)`)
	link        = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	heading     = regexp.MustCompile(`(?m)^##+ `)
)

// parse finds the sections of reasons in the page. A section is plain prose: what the reason means, and after "**Do:**"
// what to do.
func parse(page string) map[policy.Reason]Advice {
	all := map[policy.Reason]Advice{}
	for _, at := range section.FindAllStringSubmatchIndex(page, -1) {
		text := page[at[1]:]
		if end := heading.FindStringIndex(text); end != nil {
			text = text[:end[0]]
		}
		means, do, _ := strings.Cut(text, "**Do:**")
		do, _, _ = strings.Cut(do, "\n\n")
		all[policy.Reason(page[at[2]:at[3]])] = Advice{Means: first(plain(means)), Do: plain(do)}
	}
	return all
}

// first is as many sentences of a text as people read.
func first(text string) string {
	const most = 2
	sentences := strings.SplitAfter(text, ". ")
	return strings.TrimSpace(strings.Join(sentences[:min(len(sentences), most)], ""))
}

// plain takes the marks of Markdown out of a text, and references to other pages, and puts it on one line.
func plain(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = aside.ReplaceAllString(text, "")
	text = link.ReplaceAllString(text, "$1")
	text = strings.NewReplacer("`", "", "*", "").Replace(text)
	return text
}
