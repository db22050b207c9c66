// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// The annotations of an ApplicationSet that this package knows.
const (
	// Approved has entries STEP@WHAT, separated by commas, and ApprovedBy has their stamps.
	Approved   = "stepgate.io/approved"
	ApprovedBy = "stepgate.io/approved-by"
	// PausedBy says who wrote Pause last.
	Pause    = "stepgate.io/pause"
	PausedBy = "stepgate.io/paused-by"
)

// Bounds of what counts.
const (
	// maxEntries bounds the entries that can have a stamp, and maxWhat the length of what an entry approves. mostRead
	// bounds the entries that are read: more than maxEntries, so that one for which there is room only later is known.
	maxEntries = 64
	mostRead   = 4 * maxEntries
	maxWhat    = 256
	// maxUser bounds the name of a user in a stamp, in bytes. A longer one is not cut: it could be taken for somebody
	// else's.
	maxUser = 512
	// maxStamps bounds the text of ApprovedBy, in bytes: nobody reads a longer annotation (argocd.MostText).
	maxStamps = 8 << 10
	// maxProblems bounds the problems that are reported, and maxShown the text of a user in one.
	maxProblems = 5
	maxShown    = 60
)

// Entry is one entry of Approved: it approves a step for what is about to be deployed.
type Entry struct {
	// Number is what people call the step by (policy.StepNumber).
	Number int
	// What is the text of policy.ApprovalOf.
	What string
}

// String is the entry as it is written.
func (e Entry) String() string { return strconv.Itoa(e.Number) + "@" + e.What }

// Entries are the entries of the text of Approved that can be read, each once and in their order, and what is wrong
// with the others. set is nil where nobody knows which steps there are. It reads no more than mostRead.
func Entries(text string, set *policy.ApplicationSet) (entries []Entry, problems []string) {
	if strings.TrimSpace(text) == "" {
		return nil, []string{"it is empty: remove the annotation, or write STEP@REVISION into it"}
	}
	seen, read, wrong := map[Entry]bool{}, 0, 0
	for part := range strings.SplitSeq(text, ",") {
		if read++; read > mostRead {
			problems = append(problems, fmt.Sprintf("only the first %d entries are read", mostRead))
			break
		}
		e, problem := entryOf(strings.TrimSpace(part), set)
		switch {
		case problem != nil:
			if wrong++; wrong <= maxProblems {
				problems = append(problems, problem())
			}
		case !seen[e]:
			seen[e] = true
			entries = append(entries, e)
		}
	}
	if wrong > maxProblems {
		problems = append(problems, fmt.Sprintf("%d more entries cannot be read", wrong-maxProblems))
	}
	return entries, problems
}

// tooMany reports whether the text of Approved has more entries than can have a stamp.
func tooMany(text string) bool { return strings.Count(text, ",") >= maxEntries }

// plainNumber is a number as this package writes it. Two texts for one step would be two entries for one approval.
var plainNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,7})$`)

// entryOf reads one entry. problem words what is wrong with it; nil if nothing is.
func entryOf(text string, set *policy.ApplicationSet) (e Entry, problem func() string) {
	number, what, found := strings.Cut(text, "@")
	number, what = strings.TrimSpace(number), strings.TrimSpace(what)
	says := func(format string, more ...any) func() string {
		return func() string { return fmt.Sprintf(format, append([]any{shown(text)}, more...)...) }
	}
	switch {
	case text == "":
		return e, func() string { return "an entry is empty: remove one of the commas" }
	case !found:
		return e, says("%q has no @: write STEP@REVISION")
	case !plainNumber.MatchString(number):
		return e, says("%q does not begin with the number of a step: write STEP@REVISION, such as 2@ and the revision")
	}
	n, err := strconv.Atoi(number)
	if err == nil && set != nil {
		_, err = set.Step(n)
	}
	if err != nil {
		return e, says("%q: %s", err.Error())
	}
	if wrong := whatProblem(what); wrong != "" {
		return e, says("%q %s", wrong)
	}
	return Entry{Number: n, What: what}, nil
}

const (
	// sourcesPrefix and sourcesLength are of the texts of policy.ApprovalOf for several sources.
	sourcesPrefix = "sources:"
	sourcesLength = 32
	hexDigits     = "0123456789abcdef"
)

// gitHashes are the lengths of the names of commits: those of SHA-1 and of SHA-256.
var gitHashes = []int{40, 64}

// whatProblem says why a text is not what policy.ApprovalOf returns for anything.
func whatProblem(what string) string {
	hash, several := strings.CutPrefix(what, sourcesPrefix)
	switch {
	case what == "":
		return "names no revision: write it after the @"
	case len(what) > maxWhat:
		return fmt.Sprintf("names a revision of more than %d characters: name the one that stepgate shows", maxWhat)
	case strings.ContainsFunc(what, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "has a character in the revision that none has: name the one that stepgate shows"
	case several && (len(hash) != sourcesLength || !isHex(hash)):
		return fmt.Sprintf("has a short hash of sources: name all %d characters", sourcesLength)
	case isHex(strings.ToLower(what)) && slices.Contains(gitHashes, len(what)) && !isHex(what):
		return "has capital letters in the revision: write them small"
	case shortened(strings.ToLower(what)):
		return "has a short revision: name all 40 characters"
	}
	return ""
}

// shortened reports whether a text looks like a part of the name of a commit. A number may be the version of a Helm
// chart, unless it has the length to which git shortens.
func shortened(what string) bool {
	const shortest, usual = 4, 7
	return isHex(what) && len(what) >= shortest && !slices.Contains(gitHashes, len(what)) &&
		(strings.ContainsAny(what, "abcdef") || len(what) == usual)
}

func isHex(text string) bool { return text != "" && strings.Trim(text, hexDigits) == "" }

// shown is a text of a user as people see it.
func shown(text string) string { return policy.Printable(text, maxShown) }
