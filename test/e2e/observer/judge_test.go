// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// The histories are written as one word per observation: APPLICATION:WHAT, in resourceVersion order.
//
//	new      never compared; every Application is Healthy at first
//	sees2    compared with change 2, and OutOfSync
//	later2   the same, in a later second than the one in which its last operation ended
//	same2    compared with change 2, which left nothing to do
//	start    an operation appeared
//	runs2    its operation was taken up, and deploys change 2
//	takes2   its operation was taken up, and shows that the one before has deployed change 2
//	retries  its operation is about to be tried again
//	parked   its operation was taken up, and waits for a sync window before it resolves its revision
//	ended2   its operation ended, successful, having deployed change 2, and was not compared since
//	done2    the same, and a comparison found it Synced with change 2
//	failed2  its operation ended, failed
//	tries2   a dry run of change 2 was taken up
//	part2    it ended, successful, with change 2
//	sick     Degraded
//	well     Healthy
//	gone     deleted
func history(words string) []Observation {
	var all []Observation
	last := map[string]Observation{}
	for i, word := range strings.Fields(words) {
		name, what, _ := strings.Cut(word, ":")
		o, seen := last[name]
		if !seen {
			o.Health = "Healthy"
		}
		o.Name, o.ResourceVersion, o.At = name, uint64(i+1), moment(i)
		state := State{Revision: what[len(what)-1:]}
		switch strings.TrimRight(what, "0123456789") {
		case "new":
		case "sees":
			o.Synced, o.Compared = false, state
		case "later":
			o.Synced, o.Compared, o.Later = false, state, true
		case "same":
			o.Synced, o.Compared = true, state
		case "start":
			o.OperationSet = true
		case "runs":
			o.OperationSet, o.Phase, o.Operated, o.Parked = true, "Running", state, false
		case "takes":
			o.OperationSet, o.Phase, o.Operated, o.StartedAt = true, "Running", state, o.At
		case "retries":
			o.OperationSet, o.Phase, o.Operated, o.Parked = true, "Running", State{}, false
		case "parked":
			o.OperationSet, o.Phase, o.Operated, o.Parked = true, "Running", State{}, true
		case "ended":
			o.OperationSet, o.Phase, o.Operated, o.Parked = false, "Succeeded", state, false
		case "done":
			o.OperationSet, o.Phase, o.Operated, o.Parked = false, "Succeeded", state, false
			o.Synced, o.Compared = true, state
		case "failed":
			o.OperationSet, o.Phase, o.Operated = false, "Failed", state
		case "tries":
			o.OperationSet, o.DryRun, o.Part, o.Phase, o.Operated, o.StartedAt = true, true, true, "Running", state, o.At
		case "part":
			o.OperationSet, o.DryRun, o.Part, o.Phase, o.Operated = false, false, false, "Succeeded", state
		case "sick":
			o.Health = "Degraded"
		case "well":
			o.Health = "Healthy"
		case "gone":
			o.Gone = true
		default:
			panic("unknown word " + word)
		}
		last[name] = o
		all = append(all, o)
	}
	return all
}

func moment(i int) time.Time { return time.Unix(1_800_000_000+int64(i), 0) }

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		history string
		// secondAt is the word before which change 2 was made.
		secondAt    int
		devSame     bool
		prodSame    bool
		needHealthy bool
		// want is every start as APPLICATION@CHANGE, and after a "<" those that it overtook.
		want string
	}{
		"in order": {
			history: "dev:same1 prod:same1 dev:sees2 prod:sees2 dev:start dev:done2 prod:start prod:done2",
			want:    "dev@2 prod@2",
		},
		"prod starts while dev has not even seen the change": {
			history: "dev:same1 prod:same1 prod:sees2 prod:start prod:done2 dev:sees2 dev:start dev:done2",
			want:    "prod@2<dev dev@2",
		},
		"prod starts while dev's sync of the change is under way": {
			history: "dev:same1 prod:same1 dev:sees2 dev:start prod:start dev:done2 prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"dev's sync of the change failed": {
			history: "dev:same1 dev:start dev:failed2 prod:start prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"prod heals what it has, while dev is at a change that does not concern prod": {
			history: "dev:same1 prod:same1 dev:start dev:sick dev:done2 prod:start prod:done1", prodSame: true,
			want: "dev@2 prod@2",
		},
		"dev had completed it, and was compared with the next one": {
			history: "dev:same1 prod:same1 dev:sees2 dev:start dev:ended2 dev:later3 prod:start prod:done2",
			want:    "dev@2 prod@2",
		},
		"dev was compared with the next one, maybe before it had deployed it": {
			history: "dev:same1 prod:same1 dev:sees2 dev:start dev:ended2 dev:sees3 prod:start prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"dev was not Healthy when it was compared with the next one": {
			history: "dev:same1 prod:same1 dev:sees2 dev:start dev:ended2 dev:sick dev:later3 prod:start prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"dev skipped the change": {
			history: "dev:same1 prod:same1 prod:sees2 dev:sees3 dev:start dev:done3 prod:start prod:done2",
			want:    "dev@3 prod@2<dev",
		},
		"dev failed at the change, and went on": {
			history: "dev:same1 prod:same1 dev:start dev:sick dev:done2 dev:start dev:done3 dev:well prod:start prod:done2",
			want:    "dev@2 dev@3 prod@2<dev",
		},
		"a hook of dev's sync failed, and it is Synced": {
			history: "dev:same1 dev:start dev:failed2 dev:same2 prod:start prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"a hook of dev's sync failed, and a dry run replaces the result": {
			history: "dev:same1 dev:start dev:failed2 dev:same2 dev:tries2 dev:part2 prod:start prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"dev has completed the change, and a dry run replaces the result": {
			history: "dev:same1 dev:start dev:done2 dev:tries2 dev:part2 prod:start prod:done2",
			want:    "dev@2 prod@2",
		},
		"manifests that somebody has sent along are at the change in dev's history only": {
			history: "dev:same1 dev:tries2 dev:part2 dev:later3 prod:start prod:done2",
			want:    "prod@2<dev",
		},
		"dev went back to the change before": {
			history: "dev:same1 dev:start dev:done2 dev:start dev:takes1 dev:ended1 prod:start prod:done2",
			want:    "dev@2 dev@1 prod@2<dev",
		},
		"dev is going back to the change before": {
			history: "dev:same1 dev:start dev:done2 dev:start dev:takes1 prod:start prod:done2",
			want:    "dev@2 dev@1 prod@2<dev",
		},
		"dev went back, and forward again": {
			history: "dev:start dev:done2 dev:start dev:takes1 dev:ended1 dev:start dev:takes2 dev:done2 prod:start prod:done2",
			want:    "dev@2 dev@1 dev@2 prod@2",
		},
		"dev was found at the change without a sync, and goes on": {
			history: "dev:start dev:takes1 dev:done1 dev:same2 dev:start dev:takes3 prod:start prod:done2",
			want:    "dev@1 dev@3 prod@2",
		},
		"dev's sync was not compared yet": {
			history: "dev:same1 dev:sees2 dev:start dev:ended2 prod:start prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"dev is Progressing with the change": {
			history: "dev:same1 dev:start dev:sick dev:done2 prod:start prod:done2",
			want:    "dev@2 prod@2<dev",
		},
		"dev completed the change, and went on": {
			history: "dev:start dev:done2 dev:start dev:done3 prod:start prod:done2",
			want:    "dev@2 dev@3 prod@2",
		},
		"dev completed only the change before": {
			history: "dev:start dev:done1 dev:same1 prod:start prod:done2",
			want:    "dev@1 prod@2<dev",
		},
		"prod deploys the change before, which dev completed": {
			history: "dev:same1 dev:sees2 prod:start prod:done1",
			want:    "prod@1",
		},
		"a comparison found nothing to do for dev": {
			history: "dev:same1 dev:same2 prod:start prod:done2",
			want:    "prod@2",
		},
		"the change does not concern dev": {
			history: "dev:same1 prod:start prod:done2",
			devSame: true,
			want:    "prod@2",
		},
		"dev was never seen": {
			history: "prod:new prod:start prod:done1",
			want:    "prod@1<dev",
		},
		"dev is gone": {
			history: "dev:sees2 dev:gone prod:start prod:done2",
			want:    "prod@2",
		},
		"an operation that never ends counts as the newest change": {
			history: "dev:same1 prod:start",
			want:    "prod@2<dev",
		},
		"an operation from before the change that never ends counts as the one before": {
			history: "dev:same1 prod:start dev:sees2", secondAt: 2,
			want: "prod@1",
		},
		"a retry deploys the next change before dev": {
			history: "dev:start dev:done1 prod:start prod:runs1 prod:retries prod:runs2 prod:done2",
			want:    "dev@1 prod@1 prod@2<dev",
		},
		"a retry deploys the same change again": {
			history: "dev:start dev:done1 prod:start prod:runs1 prod:retries prod:runs1 prod:done1",
			want:    "dev@1 prod@1",
		},
		"a retry deploys the next change, which dev has completed": {
			history: "dev:start dev:done1 prod:start prod:runs1 dev:start dev:done2 prod:retries prod:done2",
			want:    "dev@1 prod@1 dev@2 prod@2",
		},
		"a sync window opens, and dev has not completed the newest change": {
			history: "dev:start dev:done1 prod:start prod:parked prod:done2", secondAt: 4,
			want: "dev@1 prod@1 prod@2<dev",
		},
		"a sync window opens, and dev has completed the newest change meanwhile": {
			history: "dev:start dev:done1 prod:start prod:parked dev:start dev:done2 prod:parked prod:done2", secondAt: 4,
			want: "dev@1 prod@1 dev@2 prod@2",
		},
		"every operation counts": {
			history: "dev:same1 prod:start prod:done2 prod:start prod:done2",
			want:    strings.TrimSpace(strings.Repeat("prod@2<dev ", 2)),
		},
		"dev completed the change and is unhealthy since, which counts when health is asked for": {
			history: "dev:new dev:start dev:done2 dev:sick prod:start prod:done2", needHealthy: true,
			want: "dev@2 prod@2<dev",
		},
		"a sync is repeated while dev is unhealthy": {
			history: "dev:new dev:start dev:done2 prod:start prod:done2 dev:sick prod:start prod:done2", needHealthy: true,
			want: strings.TrimSpace("dev@2 " + strings.Repeat("prod@2 ", 2)),
		},
		"dev completed the change and is unhealthy since": {
			history: "dev:new dev:start dev:done2 dev:sick prod:start prod:done2",
			want:    "dev@2 prod@2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := State{Revision: "1"}, State{Revision: "2"}
			dev := Application{Name: "dev", Step: 0, Changes: []State{{}, one, two}}
			if tc.devSame {
				dev.Changes[2] = one
			}
			prod := Application{Name: "prod", Step: 1, Changes: []State{{}, one, two}}
			if tc.prodSame {
				prod.Changes[2] = one
			}
			rollout := Rollout{ChangedAt: []time.Time{moment(-2), moment(-1), moment(tc.secondAt)}, Healthy: tc.needHealthy}
			if strings.Contains(tc.history, "3") {
				dev.Changes, prod.Changes = append(dev.Changes, State{Revision: "3"}), append(prod.Changes, State{Revision: "3"})
				rollout.ChangedAt = append(rollout.ChangedAt, moment(tc.secondAt))
			}
			rollout.Applications = []Application{dev, prod}
			NewWithT(t).Expect(words(Judge(rollout, history(tc.history)))).To(Equal(tc.want))
		})
	}
}

// Up to Argo CD 3.2 an operation that is taken up shows the result of the one before. Taken for its own, that would be
// one start more, of the change before.
func TestJudgeDropsOldResults(t *testing.T) {
	for name, tc := range map[string]struct {
		history    string
		keeps      bool
		wantStarts string
	}{
		"another change":        {"dev:same1 dev:same2 prod:start prod:done1 prod:start prod:takes1 prod:runs2 prod:done2", true, "prod@1 prod@2"},
		"the same change again": {"dev:same2 prod:start prod:done2 prod:start prod:takes2 prod:runs2 prod:done2", true, strings.TrimSpace(strings.Repeat("prod@2 ", 2))},
		"before its turn":       {"dev:same1 prod:start prod:done1 prod:start prod:takes1 prod:runs2 prod:done2", true, "prod@1 prod@2<dev"},
		"a sync window opens":   {"dev:same1 prod:start prod:done1 prod:start prod:takes1 prod:parked dev:same2 prod:parked prod:runs2", true, "prod@1 prod@2<dev prod@2"},
		"where none is shown":   {"dev:same1 dev:same2 prod:start prod:done1 prod:start prod:takes1 prod:runs2 prod:done2", false, strings.Repeat("prod@1 ", 2) + "prod@2"},
	} {
		t.Run(name, func(t *testing.T) {
			states := []State{{}, {Revision: "1"}, {Revision: "2"}}
			rollout := Rollout{
				Applications: []Application{{Name: "dev", Changes: states}, {Name: "prod", Step: 1, Changes: states}},
				ChangedAt:    []time.Time{moment(-2), moment(-1), moment(0)}, KeepsResult: tc.keeps,
			}
			NewWithT(t).Expect(words(Judge(rollout, history(tc.history)))).To(Equal(tc.wantStarts))
		})
	}
}

// TestARepairOfDriftIsNoStartOfACommit lets dev be Progressing with a commit, which does not touch prod, and prod
// drift.
func TestARepairOfDriftIsNoStartOfACommit(t *testing.T) {
	for name, tc := range map[string]struct {
		trees      []string
		wantStarts string
	}{
		"the commit does not touch it": {[]string{"", "a", "a"}, "prod@2"},
		"it does":                      {[]string{"", "a", "b"}, "prod@2<dev"},
		"nobody knows":                 {nil, "prod@2<dev"},
		"nobody knows of one":          {[]string{"", "", "a"}, "prod@2<dev"},
	} {
		t.Run(name, func(t *testing.T) {
			states := []State{{}, {Revision: "1"}, {Revision: "2"}}
			rollout := Rollout{
				Applications: []Application{{Name: "dev", Changes: states}, {Name: "prod", Step: 1, Changes: states, Trees: tc.trees}},
				ChangedAt:    []time.Time{moment(-2), moment(-1), moment(0)},
			}
			NewWithT(t).Expect(words(Judge(rollout,
				history("dev:same1 prod:same1 dev:sick dev:same2 prod:same2 prod:start prod:done2")))).To(Equal(tc.wantStarts))
		})
	}
}

func TestJudgeOrdersByResourceVersion(t *testing.T) {
	shuffled := history("dev:same1 dev:start dev:done2 prod:start prod:done2")
	shuffled[1], shuffled[3] = shuffled[3], shuffled[1]
	rollout := Rollout{
		Applications: []Application{
			{Name: "dev", Step: 0, Changes: []State{{Revision: "1"}, {Revision: "2"}}},
			{Name: "prod", Step: 1, Changes: []State{{Revision: "1"}, {Revision: "2"}}},
		},
		ChangedAt: []time.Time{moment(-1), moment(0)},
	}
	NewWithT(t).Expect(words(Judge(rollout, shuffled))).To(Equal("dev@1 prod@1"))
}

func words(starts []Start) string {
	var all []string
	for _, s := range starts {
		word := s.Application + "@" + string(rune('0'+s.Change))
		if s.OutOfOrder() {
			word += "<" + strings.Join(s.Behind, ",")
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}
