// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestConditionsAreJudged plays histories without a gate: what the world asks for is not kept then, and has to be told.
func TestConditionsAreJudged(t *testing.T) {
	const begin, end = "argocd 3.5 layout=shared poll=0s four-eyes\napp dev 1\napp qa 2\napp prod 3\napp east 3\n",
		"\n+0s commit app all\n+0s githook app\n"
	for name, tc := range map[string]struct {
		events, then string
		want         []string
	}{
		"nothing is asked for":                          {want: nil},
		"a pause":                                       {events: "+0s annotate pause 2", want: []string{"pause"}},
		"a pause with a reason":                         {events: "+0s annotate pause 2: the load test", want: []string{"pause"}},
		"a pause of a step that nobody has":             {events: "+0s annotate pause 4", want: []string{"pause"}},
		"a pause that is over":                          {events: "+0s annotate pause 2\n+1s annotate pause", want: nil},
		"a pause and a bypass":                          {events: "+0s annotate pause all\n+0s bypass 1h", want: nil},
		"a soak time":                                   {events: "+0s annotate soak 2=10s", want: []string{"soak"}},
		"a soak time before another step":               {events: "+0s annotate soak 3=1ms", want: nil},
		"a soak time that nobody can read":              {events: "+0s annotate soak soon", want: []string{"soak"}},
		"an approval is missing":                        {events: "+0s annotate approve 3", want: []string{"approval"}},
		"an approval of another revision":               {events: "+0s annotate approve 3\n+0s approval prod alice", want: []string{"approval"}},
		"a closed window":                               {events: "+0s closes qa 10s", want: []string{"window"}},
		"more have failed than may":                     {events: "+0s annotate max-failures 0\n+0s slow compare prod 10m", then: "+0s commit app east bad\n+0s githook app\n+30s sync prod", want: []string{"failures"}},
		"one has failed, and one may":                   {events: "+0s annotate max-failures 50%\n+0s slow compare prod 10m", then: "+0s commit app east bad\n+0s githook app\n+30s sync prod", want: nil},
		"more have failed at another revision than may": {events: "+0s annotate max-failures 0\n+0s crash east", want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, err := Parse(begin + tc.events + end + tc.then)
			g.Expect(err).NotTo(HaveOccurred())
			w := newWorld(s, nil)
			w.gate = noGate{}
			w.run(w.schedule())
			found := map[string]bool{}
			for _, e := range w.early {
				found[e.Kind] = e.Condition
			}
			for _, kind := range tc.want {
				g.Expect(found).To(HaveKeyWithValue(kind, true))
			}
			for _, kind := range []string{"pause", "soak", "approval", "window", "failures"} {
				if len(tc.want) == 0 {
					g.Expect(found).NotTo(HaveKey(kind))
				}
			}
		})
	}
}
