// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

const (
	commitA = "78de5d39c7e8a2c6f3d1b0a9e8d7c6b5a4f3e2d1"
	commitB = "864496e1a2b3c4d5e6f708192a3b4c5d6e7f8091"
)

func TestEntries(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 2)
	for name, tc := range map[string]struct {
		text         string
		want         []Entry
		wantProblems []string
	}{
		"one entry":                        {text: "3@" + commitA, want: []Entry{{3, commitA}}},
		"two entries":                      {text: "3@" + commitA + ",2@" + commitB, want: []Entry{{3, commitA}, {2, commitB}}},
		"spaces and line breaks":           {text: " 3 @ " + commitA + " ,\n 2@" + commitB + " ", want: []Entry{{3, commitA}, {2, commitB}}},
		"an entry twice counts once":       {text: "3@" + commitA + ",3@" + commitA, want: []Entry{{3, commitA}}},
		"two revisions for one step":       {text: "3@" + commitA + ",3@" + commitB, want: []Entry{{3, commitA}, {3, commitB}}},
		"several sources":                  {text: "1@sources:" + hash, want: []Entry{{1, "sources:" + hash}}},
		"a version of a Helm chart":        {text: "3@1.2.3-rc.1+build", want: []Entry{{3, "1.2.3-rc.1+build"}}},
		"a version that is a number":       {text: "3@20260301", want: []Entry{{3, "20260301"}}},
		"a digest":                         {text: "3@sha256:" + hash + hash, want: []Entry{{3, "sha256:" + hash + hash}}},
		"a commit of SHA-256":              {text: "3@" + hash + hash, want: []Entry{{3, hash + hash}}},
		"empty":                            {text: "", wantProblems: []string{"it is empty: remove the annotation, or write STEP@REVISION into it"}},
		"blank":                            {text: " \t", wantProblems: []string{"it is empty: remove the annotation, or write STEP@REVISION into it"}},
		"an empty entry, and a good one":   {text: "3@" + commitA + ",", want: []Entry{{3, commitA}}, wantProblems: []string{"an entry is empty: remove one of the commas"}},
		"no @":                             {text: "3", wantProblems: []string{`"3" has no @: write STEP@REVISION`}},
		"no revision":                      {text: "3@ ", wantProblems: []string{`"3@" names no revision: write it after the @`}},
		"a word for the step":              {text: "prod@" + commitA, wantProblems: []string{`"prod@` + commitA + `" does not begin with the number of a step: write STEP@REVISION, such as 2@ and the revision`}},
		"a step with a zero before it":     {text: "03@1.2.3", wantProblems: []string{`"03@1.2.3" does not begin with the number of a step: write STEP@REVISION, such as 2@ and the revision`}},
		"step 0":                           {text: "0@1.2.3", wantProblems: []string{`"0@1.2.3": there is no step 0: the ApplicationSet has the steps 1 to 3`}},
		"a step that does not exist":       {text: "4@1.2.3", wantProblems: []string{`"4@1.2.3": there is no step 4: the ApplicationSet has the steps 1 to 3`}},
		"a short revision":                 {text: "3@78de5d3", wantProblems: []string{`"3@78de5d3" has a short revision: name all 40 characters`}},
		"a short revision of digits":       {text: "3@1234567", wantProblems: []string{`"3@1234567" has a short revision: name all 40 characters`}},
		"a revision without its end":       {text: "3@" + commitA[:39], wantProblems: []string{`"3@` + commitA[:39] + `" has a short revision: name all 40 characters`}},
		"a revision in capitals":           {text: "3@" + strings.ToUpper(commitA), wantProblems: []string{`"3@` + strings.ToUpper(commitA) + `" has capital letters in the revision: write them small`}},
		"a part of the hash of sources":    {text: "3@sources:" + hash[:31], wantProblems: []string{`"3@sources:` + hash[:31] + `" has a short hash of sources: name all 32 characters`}},
		"a space in the revision":          {text: "3@a b", wantProblems: []string{`"3@a b" has a character in the revision that none has: name the one that stepgate shows`}},
		"a letter that is not of ASCII":    {text: "3@ä", wantProblems: []string{`"3@ä" has a character in the revision that none has: name the one that stepgate shows`}},
		"a very long revision":             {text: "3@" + strings.Repeat("x", 300), wantProblems: []string{`"3@` + strings.Repeat("x", 55) + `..." names a revision of more than 256 characters: name the one that stepgate shows`}},
		"a bad entry takes none with it":   {text: "3,2@" + commitA, want: []Entry{{2, commitA}}, wantProblems: []string{`"3" has no @: write STEP@REVISION`}},
		"more problems than anybody reads": {text: "1,1,1,1,1,1,1", wantProblems: []string{`"1" has no @: write STEP@REVISION`, `"1" has no @: write STEP@REVISION`, `"1" has no @: write STEP@REVISION`, `"1" has no @: write STEP@REVISION`, `"1" has no @: write STEP@REVISION`, "2 more entries cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			entries, problems := Entries(tc.text, ofSteps(3))
			g.Expect(entries).To(Equal(tc.want))
			g.Expect(problems).To(Equal(tc.wantProblems))
		})
	}
}

// TestAnEntryWithoutSteps is told that there are none, and not that there are the steps 1 to 0.
func TestAnEntryWithoutSteps(t *testing.T) {
	_, problems := Entries("3@1.2.3", ofSteps(0))
	NewWithT(t).Expect(problems).To(ConsistOf(HavePrefix(`"3@1.2.3": the ApplicationSet has no steps: add `)))
}

// ofSteps is an ApplicationSet of some steps.
func ofSteps(n int) *policy.ApplicationSet {
	return &policy.ApplicationSet{Steps: make([]policy.Step, min(max(n, 0), 10_000))}
}

// FuzzEntries words a bounded number of problems, and reads back what it has read.
func FuzzEntries(f *testing.F) {
	for _, text := range []string{"", "3@1.2.3", "1@a,1@a", "0@a", ",,,", "1@sources:abc", "9999@x", "1@\x00", "1 @ a"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, steps int) {
		entries, problems := Entries(text, ofSteps(steps))
		if len(problems) > maxProblems+2 {
			t.Fatalf("%d problems", len(problems))
		}
		for _, e := range entries {
			again, problem := entryOf(e.String(), nil)
			if problem != nil || again != e {
				t.Fatalf("%q is read as %v", e.String(), again)
			}
		}
	})
}

// FuzzStamps keeps no stamp without a user or a time.
func FuzzStamps(f *testing.F) {
	for _, text := range []string{"", "[]", `[{"step":3,"of":"1.2.3","by":"alice","at":"2026-03-01T12:00:00Z"}]`, `[null]`, "{", "[[[["} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := readStamps(text)
		if err != nil && len(all) > 0 {
			t.Fatal("stamps beside an error")
		}
		for _, s := range all {
			if s.By == "" || s.time().IsZero() {
				t.Fatalf("%+v", s)
			}
		}
	})
}
