package webhook

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
)

// loops sends a write again as soon as it is answered, for a time, and returns how often.
func loops(t *trial, write *attempt, lasting time.Duration) int {
	start, n := time.Now(), 0
	for time.Since(start) < lasting {
		t.handle(write.request())
		n++
		<-time.After(20 * time.Millisecond) // a controller's own work
	}
	return n
}

// TestRepeatedDenialsAreSlowedDown has writers that do not pause by themselves, for 20 seconds.
func TestRepeatedDenialsAreSlowedDown(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario string
		edit     func(*attempt)
		// want is about how often it gets an answer.
		want int
	}{
		"the ApplicationSet controller, denied":     {scenario: blocked, want: 20 + repeatBurst},
		"the ApplicationSet controller, allowed":    {scenario: open, want: 1_000},
		"somebody else, denied":                     {scenario: blocked, edit: func(a *attempt) { a.user = argocdServer }, want: 1_000},
		"the ApplicationSet controller, by dry-run": {scenario: blocked, edit: func(a *attempt) { a.dryRun = true }, want: 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clusterOf(tc.scenario)
				write := syncOf(c, "prod")
				if tc.edit != nil {
					tc.edit(write)
				}
				trial := newTrial(testConfig(), c)
				n := loops(trial, write, 20*time.Second)
				g := NewWithT(t)
				g.Expect(n).To(BeNumerically("~", tc.want, max(2, tc.want/50)))
				g.Expect(testutil.ToFloat64(trial.metrics.slowed) > 0).To(Equal(tc.want < 100))
			})
		})
	}
}

// A hundred Applications are denied in each pass of the controller: the pass is slowed down, not each of them.
func TestAPassOverManyApplicationsIsSlowedDownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, passes := newRepeatLimiter(), 0
		start := time.Now()
		for time.Since(start) < time.Minute {
			for i := range 100 {
				app := types.UID(fmt.Sprint(i))
				p.wait(t.Context(), app)
				<-time.After(time.Millisecond)
				p.judged(app, "denied")
			}
			passes++
		}
		NewWithT(t).Expect(passes).To(BeNumerically("~", 60+repeatBurst, 3))
	})
}

func TestRepeatLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		p := newRepeatLimiter()
		exhaust := func() {
			for range repeatBurst + 1 {
				p.wait(t.Context(), "app")
				p.judged("app", "denied")
			}
		}
		exhaust()
		g.Expect(p.wait(t.Context(), "app")).To(BeTrue())

		p.judged("app", "denied for another reason")
		g.Expect(p.wait(t.Context(), "app")).To(BeFalse(), "something has changed")
		exhaust()
		p.judged("app", "")
		g.Expect(p.wait(t.Context(), "app")).To(BeFalse(), "it went through")

		exhaust()
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer cancel()
		start := time.Now()
		p.wait(ctx, "app")
		g.Expect(time.Since(start)).To(Equal(200*time.Millisecond), "time is left for the decision")
		cancel()
		p.wait(ctx, "app")
		g.Expect(time.Since(start)).To(Equal(200*time.Millisecond), "nobody waits for the answer")

		for range repeatBurst + 2 {
			g.Expect(p.wait(t.Context(), "")).To(BeFalse(), "different ones that are being created")
			p.judged("", "denied")
		}
	})
}

func TestTheRepeatLimiterForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRepeatLimiter()
		for i := range 2 * repeatMemory {
			p.judged(types.UID(fmt.Sprint(i)), "denied")
			<-time.After(repeatTTL / repeatMemory * 2)
		}
		NewWithT(t).Expect(len(p.denied.Keys())).To(BeNumerically("<=", repeatMemory))
	})
}
