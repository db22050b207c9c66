// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/load"
)

// recovery is about how long after a SIGKILL calls fail, at the most.
const recovery = time.Second

// TestRestarts restarts every replica in turn, over and over, and then kills replicas.
func TestRestarts(t *testing.T) {
	s := start(t, "Restarts")
	s.rolling(full(20, 1), full(10000, 100))
	s.killing(full(20, 3))
}

func (s *soak) rolling(rounds, calls int) {
	round, replicas := 0, s.release.Replicas()
	m := s.during("rolling", func(tally *load.Tally) {
		for ; round < rounds || tally.Calls() < calls; round++ {
			for i := range replicas {
				s.Expect(s.release.Restart(s.ctx, i)).To(Succeed())
			}
			s.t.Logf("rolling restart %d: %s", round+1, tally)
		}
	})
	s.page.Line("soak-restarts: SIGTERM %s rolling_restarts=%d replicas_restarted=%d", m, round, round*len(replicas))
	goals := load.Goals(s.t)
	m.ExpectNoneWrong(goals)
	goals.Expect(m.Calls()).To(BeNumerically(">=", calls), "calls")
	goals.Expect(m.Count(load.Failed)).To(BeZero(), "failed calls")
}

func (s *soak) killing(count int) {
	var kills []time.Time
	m := s.during("killing", func(*load.Tally) {
		for len(kills) < count {
			i := len(kills) % len(s.release.Replicas())
			s.Expect(s.release.WaitReady(s.ctx)).To(Succeed())
			kills = append(kills, time.Now())
			s.release.Replicas()[i].Kill()
			s.Expect(s.release.Start(s.ctx, i)).To(Succeed())
			// Calls go on for longer than the goal, and each kill is at another moment between two bursts.
			<-time.After(2*recovery + time.Duration(len(kills))*37*time.Millisecond)
		}
	})
	slowest, most := afterKills(kills, m.Failures())
	s.page.Line("soak-restarts: SIGKILL %s kills=%d failed_by_a_kill=%d recovered_within=%s", m, len(kills), most,
		slowest.Round(time.Millisecond))
	goals := load.Goals(s.t)
	m.ExpectNoneWrong(goals)
	goals.Expect(most).To(BeNumerically("<=", rollouts), "calls that failed because of one SIGKILL: those of one burst")
}

// afterKills are the longest time from a SIGKILL to the last failure before the next one, and the most failures in such
// a time.
func afterKills(kills []time.Time, failures []load.Failure) (slowest time.Duration, most int) {
	for i, kill := range kills {
		failed := 0
		for _, f := range failures {
			if f.Ended.After(kill) && (i+1 == len(kills) || f.Ended.Before(kills[i+1])) {
				slowest = max(slowest, f.Ended.Sub(kill))
				failed++
			}
		}
		most = max(most, failed)
	}
	return slowest, most
}
