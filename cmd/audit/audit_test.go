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
		"one after the other": {apps: "dev dev a@0-1 b@100-110; prod prod a@5-6 b@111-120", want: audit.InOrder},
		"the later step finished before the earlier one started": {
			apps: "dev dev a@0-1 b@150-160; prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "prod 60 1",
		},
		"the later step finished while the earlier one was syncing": {
			apps: "dev dev a@0-1 b@100-160; prod prod a@5-6 b@110-120", want: audit.OutOfOrder, early: "prod 50 1",
		},
		"the later step started while the earlier one was syncing": {
			apps: "dev dev a@0-1 b@100-160; prod prod a@5-6 b@110-200", want: audit.OutOfOrder, early: "prod 50 1",
		},
		"both started in one second": {apps: "dev dev a@0-1 b@100-160; prod prod a@5-6 b@100-200", want: audit.OutOfOrder, early: "prod 60 1"},
		"the later step started first and finished last: a sync window or a retry": {
			apps: "dev dev a@0-1 b@100-160; prod prod a@5-6 b@90-200", want: audit.Unclear, why: audit.MayHaveWaited,
		},
		"the same second":                             {apps: "dev dev a@0-1 b@100-110; prod prod a@5-6 b@110-120", want: audit.Unclear, why: audit.SameSecond},
		"only one step":                               {apps: "dev dev a@0-1; prod prod a@5-6 b@100-110", want: audit.OneStep},
		"Applications of the same step":               {apps: "qa-1 qa a@5-6 b@100-110; qa-2 qa a@5-6 b@50-60", want: audit.OneStep},
		"an earlier step went on to a newer revision": {apps: "dev dev a@0-1 c@200-210; prod prod a@5-6 b@100-110", want: audit.OneStep},
		"prod by hand":                                {apps: "dev dev a@0-1 b@150-160; prod prod a@5-6 b@100-110h", want: audit.ByHand, early: "prod 60 1"},
		"dev by hand, perhaps without need": {
			apps: "dev dev a@0-1 b@150-160h; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.EarlierByHand,
		},
		"dev with another path, perhaps for that alone": {
			apps: "dev dev a@0-1 b@150-160v; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.OtherChange,
		},
		"the branch went back": {
			apps: "dev dev a@0-1 c@50-60 b@150-160; qa qa b@40-41 c@70-80; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.WentBack,
		},
		"a second sync of the same revision does not count": {
			apps: "dev dev a@0-1 b@90-95 b@150-160; prod prod a@5-6 b@100-110", want: audit.InOrder,
		},
		"a first installation":   {apps: "dev dev created=0 b@20-30; prod prod created=0 b@5-6", want: audit.OutOfOrder, early: "prod 25 1"},
		"created afterwards":     {apps: "dev dev created=120 b@130-140; prod prod a@5-6 b@100-110", want: audit.OneStep},
		"created in that second": {apps: "dev dev created=100 b@130-140; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.SameSecond},
		"the oldest record, and not the first": {
			apps: "dev dev id=7 b@150-160 c@200-201; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"all records are younger than prod's start": {
			apps: "dev dev id=7 c@130-140 b@150-160; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"the record may have been dropped": {
			apps: "dev dev id=7 c@200-201; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"a record that was dropped is older than prod's start": {
			apps: "dev dev id=7 a@50-51 c@200-201; prod prod a@5-6 b@100-110", want: audit.OneStep,
		},
		"trimmed, and rolled back before": {
			apps: "dev dev id=7 a@50-51h b@150-160; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed,
		},
		"trimmed, but not there": {apps: "dev dev id=7 a@50-51 b@150-160; prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "prod 60 1"},
		"no history is kept":     {apps: "dev dev limit=0; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.Trimmed},
		"another repository":     {apps: "dev dev repo=other id=7 c@200-201; prod prod a@5-6 b@100-110", want: audit.OneStep},
		"prod failed before dev": {apps: "dev dev a@0-1 b@150-160; prod prod a@5-6 b@100-110f", want: audit.OutOfOrder, early: "prod 60 1"},
		"prod runs, dev was syncing when it started": {
			apps: "dev dev a@0-1 b@100-160; prod prod a@5-6 b@110", want: audit.OutOfOrder, early: "prod 50 1",
		},
		"prod runs since before":    {apps: "dev dev a@0-1 b@100-160; prod prod a@5-6 b@90", want: audit.Unclear, why: audit.MayHaveWaited},
		"dev still runs":            {apps: "dev dev a@0-1 b@120; prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "prod - 1"},
		"dev has failed since":      {apps: "dev dev a@0-1 b@105-120f; prod prod a@5-6 b@100-110", want: audit.OutOfOrder, early: "prod 20 1"},
		"dev had failed before":     {apps: "dev dev a@0-1 b@50-60f; prod prod a@5-6 b@100-110", want: audit.Unclear, why: audit.EarlierFailed},
		"a partial sync of prod":    {apps: "dev dev a@0-1 b@150-160; prod prod a@5-6 b@100-110p", want: audit.OneStep},
		"an Application in no step": {apps: "dev dev a@0-1 b@150-160; other test a@5-6 b@100-110", want: audit.OneStep},
		"two sources, one changed": {
			apps: "dev dev second=values a@0-1 b@150-160; prod prod second=values a@5-6 b@100-110", want: audit.OutOfOrder, early: "prod 60 1",
		},
		"two sources, both changed in dev": {
			apps: "dev dev second=values a@0-1 b@150-160o; prod prod second=values a@5-6 b@100-110", want: audit.Unclear, why: audit.OtherChange,
		},
		"two steps early, one in order": {
			apps: "dev dev a@0-1 b@150-160; qa qa a@2-3 b@100-120; prod-1 prod a@5-6 b@110-115; prod-2 prod a@5-6 b@180-190",
			want: audit.OutOfOrder, early: "qa 60 1, prod-1 50 2",
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

// rollout is that of a letter.
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
