// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// conditionsOf reads the conditions of an ApplicationSet with three steps.
func conditionsOf(annotations map[string]string) (policy.Conditions, []string) {
	s := NewParser(Config{}, atNoon).Of(withThreeSteps(annotations))
	var problems []string
	for _, p := range s.Problems {
		problems = append(problems, p.Annotation+" "+p.Text)
	}
	return s.Conditions, problems
}

var atNoon = clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

func withThreeSteps(annotations map[string]string) *argocd.ApplicationSet {
	return &argocd.ApplicationSet{
		ApplicationSet: policy.ApplicationSet{Steps: make([]policy.Step, 3)},
		Annotations:    argocd.ReadAnnotations(annotations),
	}
}

func TestConditionsThatCanBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        policy.Conditions
	}{
		"none":                     {},
		"every step is paused":     {map[string]string{PauseAnnotation: " all "}, policy.Conditions{Paused: policy.Steps{All: true}}},
		"some steps are paused":    {map[string]string{PauseAnnotation: "2, 3"}, policy.Conditions{Paused: policy.Steps{Of: []int{1, 2}}}},
		"who has paused":           {map[string]string{PauseAnnotation: "1", PausedByAnnotation: "alice at 10:00"}, policy.Conditions{Paused: policy.Steps{Of: []int{0}}, PausedWhy: "by alice at 10:00"}},
		"who has paused, and why":  {map[string]string{PauseAnnotation: "1: INC-1", PausedByAnnotation: "alice at 10:00"}, policy.Conditions{Paused: policy.Steps{Of: []int{0}}, PausedWhy: "INC-1, by alice at 10:00"}},
		"every later step soaks":   {map[string]string{SoakAnnotation: "1h30m"}, policy.Conditions{Soak: policy.Soak{Every: 90 * time.Minute}}},
		"no soak time":             {map[string]string{SoakAnnotation: "0s"}, policy.Conditions{}},
		"some steps soak":          {map[string]string{SoakAnnotation: "2=1h, 3=24h"}, policy.Conditions{Soak: policy.Soak{Of: map[int]time.Duration{1: time.Hour, 2: 24 * time.Hour}}}},
		"a step needs an approval": {map[string]string{ApproveAnnotation: "3"}, policy.Conditions{Approve: policy.Steps{Of: []int{2}}}},
		"a number may fail":        {map[string]string{MaxFailuresAnnotation: "2"}, policy.Conditions{MaxFailures: &policy.Budget{Most: 2}}},
		"a share may fail":         {map[string]string{MaxFailuresAnnotation: " 10% "}, policy.Conditions{MaxFailures: &policy.Budget{Most: 10, Percent: true}}},
		"why every step is":        {map[string]string{PauseAnnotation: "all : a reason: 3, 4"}, policy.Conditions{Paused: policy.Steps{All: true}, PausedWhy: "a reason: 3, 4"}},
		"a colon, and no reason":   {map[string]string{PauseAnnotation: "2:"}, policy.Conditions{Paused: policy.Steps{Of: []int{1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, problems := conditionsOf(tc.annotations)
			g.Expect(problems).To(BeEmpty())
			g.Expect(c).To(Equal(tc.want))
		})
	}
}

// TestConditionsThatCannotBeRead wants a sentence that says what to write, and the stricter reading.
func TestConditionsThatCannotBeRead(t *testing.T) {
	everyStep := policy.Steps{All: true}
	for annotation, values := range map[string]map[string]string{
		PauseAnnotation: {
			"":                     `"" is not a step: write "all", or numbers such as "2,3"`,
			"yes":                  `"yes" is not a step: write "all", or numbers such as "2,3"`,
			"2,,3":                 `"" is not a step: write "all", or numbers such as "2,3"`,
			"4":                    "there is no step 4: the ApplicationSet has the steps 1 to 3",
			"0":                    "there is no step 0: the ApplicationSet has the steps 1 to 3",
			"-1":                   "there is no step -1: the ApplicationSet has the steps 1 to 3",
			"99999999999999999999": `"99999999999999999999" is not a step: write "all", or numbers such as "2,3"`,
			"2 3":                  `"2 3" is not a step: write "all", or numbers such as "2,3", and a reason after a colon, such as "2,3: INC-1"`,
			"3 the load test":      `"3 the load test" is not a step: write "all", or numbers such as "2,3", and a reason after a colon, such as "2,3: INC-1"`,
			"2 and 3: INC-1":       `"2 and 3" is not a step: write "all", or numbers such as "2,3"`,
			": INC-1":              `"" is not a step: write "all", or numbers such as "2,3"`,
			"9: INC-1":             "there is no step 9: the ApplicationSet has the steps 1 to 3",
		},
		SoakAnnotation: {
			"":            `"" is not a time: write hours, minutes and seconds such as "90s", "30m" or "24h"`,
			"30":          `"30" is not a time: write hours, minutes and seconds such as "90s", "30m" or "24h"`,
			"2d":          `"2d" is not a time: write hours, minutes and seconds such as "90s", "30m" or "24h"`,
			"-1h":         "-1h0m0s is negative",
			"9000h":       "9000h0m0s is longer than 8784h0m0s, the longest soak time",
			"9999999999h": `"9999999999h" is not a time: write hours, minutes and seconds such as "90s", "30m" or "24h"`,
			"1=1h":        "step 1 has no earlier step that could soak: name a later one",
			"4=1h":        "there is no step 4: the ApplicationSet has the steps 1 to 3",
			"2=1h,2=2h":   "step 2 is named twice",
			"2=":          `"" is not a time: write hours, minutes and seconds such as "90s", "30m" or "24h"`,
			"2=1h,30m":    `"30m" is not a step: write "all", or numbers such as "2,3"`,
		},
		ApproveAnnotation: {
			"prod": `"prod" is not a step: write "all", or numbers such as "2,3"`,
			"2,9":  "there is no step 9: the ApplicationSet has the steps 1 to 3",
			"2: x": `"2: x" is not a step: write "all", or numbers such as "2,3"`,
		},
		MaxFailuresAnnotation: {
			"":     `"" is no number of Applications: write "2", or a share of the step such as "10%"`,
			"many": `"many" is no number of Applications: write "2", or a share of the step such as "10%"`,
			"1.5":  `"1.5" is no number of Applications: write "2", or a share of the step such as "10%"`,
			"-1":   "-1 is negative",
			"-1%":  "-1% is negative",
			"101%": "101% is more than 100%",
			"%":    `"%" is no number of Applications: write "2", or a share of the step such as "10%"`,
		},
	} {
		for value, want := range values {
			t.Run(annotation+" "+value, func(t *testing.T) {
				g := NewWithT(t)
				c, problems := conditionsOf(map[string]string{annotation: value})
				g.Expect(problems).To(Equal([]string{annotation + " not valid, the stricter reading is used: " + want}))
				strictest := map[string]policy.Conditions{
					PauseAnnotation: {Paused: everyStep, PausedWhy: value}, SoakAnnotation: {Soak: policy.Soak{Unreadable: true}},
					ApproveAnnotation: {Approve: everyStep}, MaxFailuresAnnotation: {MaxFailures: &policy.Budget{}},
				}
				g.Expect(c).To(Equal(strictest[annotation]))
			})
		}
	}
}

// FuzzConditions reads any text without a panic, and reports what it cannot read.
func FuzzConditions(f *testing.F) {
	for _, seed := range []string{"all", "2,3", "2,3: INC-1", "30m", "2=1h,3=24h", "10%", "2", "-1", "", "2=", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, annotation := range []string{PauseAnnotation, SoakAnnotation, ApproveAnnotation, MaxFailuresAnnotation} {
			c, problems := conditionsOf(map[string]string{annotation: text})
			for step := range 3 {
				if wait := c.Soak.Before(step); wait < 0 || wait > maxSoak {
					t.Errorf("soak %q: %s", text, wait)
				}
			}
			if b := c.MaxFailures; b != nil && (b.Most < 0 || b.Percent && b.Most > 100) {
				t.Errorf("max-failures %q: %+v", text, b)
			}
			if strict := c.Paused.All || c.Approve.All || c.Soak.Unreadable || c.MaxFailures != nil &&
				c.MaxFailures.Most == 0; len(problems) > 0 && !strict {
				t.Errorf("%s %q cannot be read, and holds nothing", annotation, text)
			}
		}
	})
}

// TestAnAnnotationThatIsNotAllowedSetsNoCondition reports it instead.
func TestAnAnnotationThatIsNotAllowedSetsNoCondition(t *testing.T) {
	g := NewWithT(t)
	s := NewParser(Config{
		IgnoredAnnotations: []string{PauseAnnotation},
	}, atNoon).Of(withThreeSteps(map[string]string{PauseAnnotation: "all"}))
	g.Expect(s.Conditions).To(Equal(policy.Conditions{}))
	g.Expect(s.Problems).To(HaveLen(1))
}
