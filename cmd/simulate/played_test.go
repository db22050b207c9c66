// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/cmd/screen"
)

// TestMain silences the log of Argo CD's generators.
func TestMain(m *testing.M) {
	render.Silence()
	os.Exit(m.Run())
}

// told plays the guestbook with some texts replaced, and returns its timeline and what came of it.
func told(t *testing.T, o Options, edits ...string) (report *Report, text string) {
	t.Helper()
	of := guestbook(t)
	for i := 0; i < len(edits); i += 2 {
		NewWithT(t).Expect(of).To(ContainSubstring(edits[i]))
		of = strings.Replace(of, edits[i], edits[i+1], 1)
	}
	report, err := Play(context.Background(), rolloutOf(t, of), o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return report, strings.Join(report.Text(screen.Screen{Width: 400}), "\n")
}

// What the ApplicationSet asks for is played.
func TestWhatIsPlayed(t *testing.T) {
	const named, all = "  name: guestbook\n", "  name: guestbook\n  annotations: "
	for name, tc := range map[string]struct {
		edits    []string
		change   func(*Options)
		complete bool
		wants    []string
		// after is the least time that it takes.
		after time.Duration
	}{
		"a soak time": {
			edits: []string{named, all + "{stepgate.io/soak: 30m}\n"}, complete: true, after: time.Hour,
			wants: []string{"(Soaking: until +", "complete after 1h"},
		},
		"an approval, which somebody gives": {
			edits: []string{named, all + "{stepgate.io/approve: '3'}\n"}, complete: true,
			wants: []string{"Somebody approves within 20 s"},
		},
		"a pause": {
			edits: []string{named, all + "{stepgate.io/pause: '2, 3: the load test'}\n"},
			wants: []string{"stands still", "is paused (Paused: the load test, by admin at"},
		},
		"a failure in the last step but one of two that may fail": {
			edits:  []string{named, all + "{stepgate.io/max-failures: '1'}\n"},
			change: func(o *Options) { o.Failures = map[string]Failure{"guestbook-prod-eu": FailsHealth} },
			wants:  []string{"✖ guestbook-prod-eu (step 3) is Degraded"},
		},
		"conditions, in audit mode": {
			edits: []string{named, all + "{stepgate.io/pause: '2', stepgate.io/mode: audit}\n"}, complete: true,
		},
		"two retries": {
			edits:  []string{"      project: default\n", "      project: default\n      syncPolicy: {retry: {limit: 2}}\n"},
			change: func(o *Options) { o.Failures = map[string]Failure{"guestbook-dev": FailsSync} },
			wants:  []string{"the sync has failed, after 2 retries"},
		},
		"no retry": {
			edits:  []string{"      project: default\n", "      project: default\n      syncPolicy: {retry: {limit: 0}}\n"},
			change: func(o *Options) { o.Failures = map[string]Failure{"guestbook-dev": FailsSync} },
			wants:  []string{"the sync has failed, and is not tried again\n"},
		},
		"a manual step": {
			edits: []string{"maxUpdate: 1", "maxUpdate: 0"},
			wants: []string{
				"Step 3 is a manual step (maxUpdate 0): somebody has to sync guestbook-prod-eu and guestbook-prod-us.",
				"maxUpdate of step 3 is 0",
			},
		},
		"a manual step, by hand": {
			edits:  []string{"maxUpdate: 1", "maxUpdate: 0"},
			change: func(o *Options) { o.ByHand = []string{"guestbook-prod-eu", "guestbook-prod-us"} }, complete: true,
		},
		"maxUpdate in 3.2": {change: func(o *Options) { o.Version = "3.2" }, complete: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			report, text := told(t, with(func(o *Options) {
				if tc.change != nil {
					tc.change(o)
				}
			}), tc.edits...)
			g.Expect(report.Complete).To(Equal(tc.complete), text)
			for _, want := range tc.wants {
				g.Expect(text).To(ContainSubstring(want))
			}
			g.Expect(text).NotTo(ContainSubstring("2200-"))
			g.Expect(seconds(report.Seconds)).To(BeNumerically(">=", tc.after))
		})
	}
}
