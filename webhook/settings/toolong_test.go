// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestWhatIsTooLongIsTheStrictest has each annotation with one byte too many, beside others that are usual. It counts as
// strictly as it can, is named once with its bound, and nothing else is lost.
func TestWhatIsTooLongIsTheStrictest(t *testing.T) {
	tooLong := strings.Repeat("1", argocd.MostText+1)
	usual := map[string]string{
		BypassAnnotation: "2026-03-01T13:00:00Z INC-1", ExcludeAnnotation: "dev 2026-03-01T13:00:00Z INC-1", TrackAnnotation: "app",
	}
	for name, strict := range map[string]func(s Settings) bool{
		ModeAnnotation:        func(s Settings) bool { return s.Mode == Enforce && !s.Off },
		RequireAnnotation:     func(s Settings) bool { return s.Require == policy.Require(0) },
		PinAnnotation:         func(s Settings) bool { return !s.Candidates },
		BypassAnnotation:      func(s Settings) bool { return !s.Bypassed },
		ExcludeAnnotation:     func(s Settings) bool { return len(s.Excluded) == 0 && s.Exclusion == "" },
		PauseAnnotation:       func(s Settings) bool { return s.Conditions.Paused.All && s.Conditions.PausedWhy == "" },
		PausedByAnnotation:    func(s Settings) bool { return s.Conditions.PausedWhy == "" },
		SoakAnnotation:        func(s Settings) bool { return s.Conditions.Soak.Unreadable },
		ApproveAnnotation:     func(s Settings) bool { return s.Conditions.Approve.All },
		ApprovedAnnotation:    func(s Settings) bool { return len(s.Conditions.Approved) == 0 },
		ApprovedByAnnotation:  func(s Settings) bool { return len(s.Conditions.Approved) == 0 },
		MaxFailuresAnnotation: func(s Settings) bool { return *s.Conditions.MaxFailures == policy.Budget{} },
		VerifyAnnotation:      func(s Settings) bool { return s.Conditions.Verify.Unreadable != "" },
		AfterAnnotation:       func(s Settings) bool { return s.After.Unreadable != "" && s.Follows },
		TrackAnnotation:       func(s Settings) bool { return s.Track == "" },
	} {
		all := map[string]string{name: tooLong}
		for other, text := range usual {
			if other != name {
				all[other] = text
			}
		}
		g := NewWithT(t)
		s := NewParser(Config{Mode: Audit, Pin: PinCandidate}, atNoon).Of(withThreeSteps(all))
		if name == PinAnnotation {
			s = NewParser(Config{Pin: PinCandidate}, atNoon).Of(withThreeSteps(all))
		}
		g.Expect(strict(s)).To(BeTrue(), name)
		said := Problem{name, "unreadable, the strictest reading is used: it has 8193 bytes, more than 8192"}
		g.Expect(s.Problems).To(ContainElement(said), name)
		g.Expect(strings.Count(fmt.Sprint(s.Problems), "annotation "+name+" ")).To(Equal(1), name)
		if name != TrackAnnotation {
			g.Expect(s.Track).To(Equal("app"), name)
		}
		if name != BypassAnnotation {
			g.Expect(s.Bypassed).To(BeTrue(), name)
		}
	}
	for _, a := range All() {
		read := argocd.ReadAnnotations(map[string]string{a.Name: tooLong})
		NewWithT(t).Expect(read.AllUnreadable()).To(Equal([]string{a.Name}))
	}
}

// FuzzOf reads each annotation with an arbitrary text: no panic, few problems, and never a pause or a soak time that
// passes for none because it cannot be read.
func FuzzOf(f *testing.F) {
	for i, text := range []string{
		"", "all", "3,4", "2=1h,3=24h", "10%", "-1", "infra, platform/base", "a=b", "\x00", "2026-03-01T13:00:00Z INC-1",
		"dev,qa 2026-03-01T13:00:00Z INC-1",
	} {
		f.Add(i, text)
	}
	names := All()
	parser := NewParser(Config{}, At(time.Time{}))
	f.Fuzz(func(t *testing.T, i int, text string) {
		name := names[(i%len(names)+len(names))%len(names)].Name
		s := parser.Of(withThreeSteps(map[string]string{name: text}))
		if len(s.Problems) > 10 {
			t.Fatalf("%d problems of %s", len(s.Problems), name)
		}
		unread := slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Annotation == name })
		if unread && (s.Off || s.Bypassed || s.Mode != Enforce) {
			t.Fatalf("%s: %q cannot be read, and switches the gate off", name, text)
		}
	})
}
