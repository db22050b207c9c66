// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/audit"
)

// Every Application deployed a first; b is the rollout in question.
func TestVerdicts(t *testing.T) {
	for name, tc := range map[string]struct {
		apps string // separated by semicolons
		want audit.Verdict
		why  audit.Reason
		// early is who was early, by how many seconds, and before how many.
		early string
	}{
		"one after the other": {apps: "app-dev dev a@0-1 b@100-110; app-prod prod a@5-6 b@111-120", want: audit.InOrder},
		"the later step finished before the earlier one started": {
			apps: "app-dev dev a@0-1 b@150-160; app-prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "app-prod 60 1",
		},
		"the later step finished while the earlier one was syncing": {
			apps: "app-dev dev a@0-1 b@100-160; app-prod prod a@5-6 b@110-120", want: audit.OutOfOrder, early: "app-prod 50 1",
		},
		"the later step started while the earlier one was syncing": {
			apps: "app-dev dev a@0-1 b@100-160; app-prod prod a@5-6 b@110-200", want: audit.OutOfOrder, early: "app-prod 50 1",
		},
		"both started in one second": {apps: "app-dev dev a@0-1 b@100-160; app-prod prod a@5-6 b@100-200", want: audit.OutOfOrder, early: "app-prod 60 1"},
		"the later step started first and finished last: a sync window or a retry": {
			apps: "app-dev dev a@0-1 b@100-160; app-prod prod a@5-6 b@90-200", want: audit.Unclear, why: audit.MayHaveWaited,
		},
		"the same second":                             {apps: "app-dev dev a@0-1 b@100-110; app-prod prod a@5-6 b@110-120", want: audit.Unclear, why: audit.SameSecond},
		"only one step":                               {apps: "app-dev dev a@0-1; app-prod prod a@5-6 b@100-110", want: audit.OneStep},
		"Applications of the same step":               {apps: "qa-1 qa a@5-6 b@100-110; qa-2 qa a@5-6 b@50-60", want: audit.OneStep},
		"an earlier step went on to a newer revision": {apps: "app-dev dev a@0-1 c@200-210; app-prod prod a@5-6 b@100-110", want: audit.OneStep},
		"prod by hand":                                {apps: "app-dev dev a@0-1 b@150-160; app-prod prod a@5-6 b@100-110h", want: audit.ByHand, early: "app-prod 60 1"},
		"dev by hand, perhaps without need": {
			apps: "app-dev dev a@0-1 b@150-160h; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.EarlierByHand,
		},
		"dev with another path, perhaps for that alone": {
			apps: "app-dev dev a@0-1 b@150-160v; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.OtherChange,
		},
		"the branch went back": {
			apps: "app-dev dev a@0-1 c@50-60 b@150-160; app-qa qa b@40-41 c@70-80; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.WentBack,
		},
		"a second sync of the same revision does not count": {
			apps: "app-dev dev a@0-1 b@90-95 b@150-160; app-prod prod a@5-6 b@100-110", want: audit.InOrder,
		},
		"a first installation":   {apps: "app-dev dev created=0 b@20-30; app-prod prod created=0 b@5-6", want: audit.OutOfOrder, early: "app-prod 25 1"},
		"created afterwards":     {apps: "app-dev dev created=120 b@130-140; app-prod prod a@5-6 b@100-110", want: audit.OneStep},
		"created in that second": {apps: "app-dev dev created=100 b@130-140; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.SameSecond},
		"the oldest record, and not the first": {
			apps: "app-dev dev id=7 b@150-160 c@200-201; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"all records are younger than prod's start": {
			apps: "app-dev dev id=7 c@130-140 b@150-160; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"the record may have been dropped": {
			apps: "app-dev dev id=7 c@200-201; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"a record that was dropped is older than prod's start": {
			apps: "app-dev dev id=7 a@50-51 c@200-201; app-prod prod a@5-6 b@100-110", want: audit.OneStep,
		},
		"trimmed, and rolled back before": {
			apps: "app-dev dev id=7 a@50-51h b@150-160; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"trimmed, but not there": {apps: "app-dev dev id=7 a@50-51 b@150-160; app-prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "app-prod 60 1"},
		"no history is kept":     {apps: "app-app-dev dev limit=0; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed},
		"another repository":     {apps: "app-dev dev repo=other id=7 c@200-201; app-prod prod a@5-6 b@100-110", want: audit.OneStep},
		"prod failed before dev": {apps: "app-dev dev a@0-1 b@150-160; app-prod prod a@5-6 b@100-110f", want: audit.OutOfOrder, early: "app-prod 60 1"},
		"prod runs, dev was syncing when it started": {
			apps: "app-dev dev a@0-1 b@100-160; app-prod prod a@5-6 b@110", want: audit.OutOfOrder, early: "app-prod 50 1",
		},
		"prod runs since before": {apps: "app-dev dev a@0-1 b@100-160; app-prod prod a@5-6 b@90", want: audit.Unclear, why: audit.MayHaveWaited},
		"dev still runs":         {apps: "app-dev dev a@0-1 b@120; app-prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "app-prod - 1"},
		"dev has failed since":   {apps: "app-dev dev a@0-1 b@105-120f; app-prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "app-prod 20 1"},
		"dev had failed before":  {apps: "app-dev dev a@0-1 b@50-60f; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.EarlierFailed},
		"one of two had failed before": {
			apps: "dev-1 dev a@0-1 b@50-60f; dev-2 dev a@0-1 b@70-80; app-prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.EarlierFailed,
		},
		"a dry run of prod":         {apps: "app-dev dev a@0-1 b@150-160; app-prod prod a@5-6 b@100-110d", want: audit.OneStep},
		"local manifests in prod":   {apps: "app-dev dev a@0-1 b@150-160; app-prod prod a@5-6 b@100-110m", want: audit.OneStep},
		"a partial sync of prod":    {apps: "app-dev dev a@0-1 b@150-160; app-prod prod a@5-6 b@100-110p", want: audit.OneStep},
		"an Application in no step": {apps: "app-dev dev a@0-1 b@150-160; other test a@5-6 b@100-110", want: audit.OneStep},
		"two sources, one changed": {
			apps: "app-dev dev second=values a@0-1 b@150-160; app-prod prod second=values a@5-6 b@100-110", want: audit.OutOfOrder, early: "app-prod 60 1",
		},
		"two sources, both changed in dev": {
			apps: "app-dev dev second=values a@0-1 b@150-160o; app-prod prod second=values a@5-6 b@100-110", want: audit.Unclear, why: audit.OtherChange,
		},
		"two steps early, one in order": {
			apps: "app-dev dev a@0-1 b@150-160; app-qa qa a@2-3 b@100-120; prod-1 prod a@5-6 b@110-115; prod-2 prod a@5-6 b@180-190",
			want: audit.OutOfOrder, early: "app-qa 60 1, prod-1 50 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := rollout(audited(t, strings.Split(tc.apps, ";")...), "b")
			g.Expect(r).NotTo(BeNil())
			g.Expect(r.Verdict).To(Equal(tc.want))
			g.Expect(r.Reason).To(Equal(tc.why))
			g.Expect(earlyOnes(r)).To(Equal(tc.early))
		})
	}
}

// An Application without a record is left out, and the report says how many were: they may have failed, and nobody
// knows.
func TestLeftOut(t *testing.T) {
	g := NewWithT(t)
	r := audited(t, "app-dev dev a@0-1", "app-qa qa a@2-3 b@100-110", "app-prod prod a@5-6 b@120-130",
		"late-dev dev created=150", "other-dev dev repo=other", "free test a@1-2", "free-prod prod repo=free")
	g.Expect(rollout(r, "b").Verdict).To(Equal(audit.InOrder))
	g.Expect(rollout(r, "b").LeftOut).To(Equal(1))
	set := r.ApplicationSets[0]
	g.Expect(set.Partial).To(Equal(1))
	g.Expect(set.NotSelected).To(Equal(1))
	g.Expect(set.NotComparable).To(Equal(1))
	g.Expect(set.Totals).To(Equal(audit.Totals{Rollouts: 2, InOrder: 2}))
}

// rollout returns the rollout that a letter stands for.
func rollout(r *audit.Report, letter string) *audit.Rollout {
	all := r.ApplicationSets[0].Rollouts
	i := slices.IndexFunc(all, func(r audit.Rollout) bool { return r.Revision == commit(letter) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func earlyOnes(r *audit.Rollout) string {
	var all []string
	for _, e := range r.Early {
		seconds := "-"
		if e.Seconds != nil {
			seconds = fmt.Sprint(*e.Seconds)
		}
		all = append(all, fmt.Sprintf("%s %s %d", e.Application, seconds, e.BeforeCount))
	}
	return strings.Join(all, ", ")
}
