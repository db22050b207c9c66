package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// Judge tells where the rollout of an ApplicationSet is, by what is known.
func Judge(preview *webhook.Preview, known Known, set *argocd.ApplicationSet) *Rollout {
	r := &Rollout{
		TypeMeta:  metav1.TypeMeta{APIVersion: APIVersion, Kind: "Rollout"},
		Namespace: set.Namespace, Name: set.Name, Phase: Ungated,
	}
	settings := preview.Settings(set)
	r.Exempt, r.Problems = exempt(settings), settings.Problems
	if !set.RollingSync || len(set.Steps) == 0 {
		return r
	}
	owned := known.Owned(types.UID(set.UID))
	slices.SortFunc(owned, func(a, b *siblings.Projection) int { return cmp.Compare(a.Name, b.Name) })
	j := &judgment{set: set, in: preview.Input(set, owned), waiting: preview.Waiting(set, owned), blockers: map[string]policy.Blocker{}}
	for _, d := range j.waiting {
		for _, b := range d.Blockers {
			j.blockers[b.Application] = b
		}
	}
	j.newest = newest(owned)
	for i, step := range set.Steps {
		r.Steps = append(r.Steps, Step{Number: i + 1, Selector: selector(step), MaxUpdate: set.MaxUpdate[i]})
	}
	for _, p := range owned {
		at := policy.StepOf(set.Steps, p.Application.Labels)
		if at < 0 {
			r.Unselected = append(r.Unselected, p.Name)
			continue
		}
		r.Steps[at].Applications = append(r.Steps[at].Applications, j.application(&p.Application, at))
	}
	for _, b := range policy.Missing(j.in) {
		r.Steps[b.Step].Applications = append(r.Steps[b.Step].Applications, Application{
			Name: b.Application, Reason: string(b.Reason), Believed: believed(set.Recorded[b.Application]),
		})
	}
	r.sum(j)
	r.Revisions = revisions(owned)
	return r
}

// judgment is what a Rollout is made from.
type judgment struct {
	set     *argocd.ApplicationSet
	in      policy.Input
	waiting map[string]policy.Decision
	// blockers are those of all syncs to come.
	blockers map[string]policy.Blocker
	// newest are the last comparisons, by the key of the source.
	newest map[string]comparison
}

// comparison is a revision, and when an Application was compared with it.
type comparison struct {
	revision string
	at       time.Time
}

// newest finds for each source the revision of the last comparison. Times order nothing for the gate, but here only a text depends on them.
func newest(owned []*siblings.Projection) map[string]comparison {
	last := map[string]comparison{}
	for _, p := range owned {
		for _, s := range p.Application.Compared {
			if at := p.Application.ReconciledAt; s.Revision != "" && at.After(last[s.Key].at) {
				last[s.Key] = comparison{s.Revision, at}
			}
		}
	}
	return last
}

// behind says with what an Application has to be compared yet; empty where it is compared with the newest revisions.
func (j *judgment) behind(a *policy.Application) string {
	for _, s := range a.Compared {
		if last := j.newest[s.Key]; s.Revision != "" && s.Revision != last.revision && a.ReconciledAt.Before(last.at) {
			return "compared with " + Short(s.Revision) + ", not " + Short(last.revision)
		}
	}
	return ""
}

func (j *judgment) application(a *policy.Application, step int) Application {
	recorded, listed := j.set.Recorded[a.Name]
	shown := Application{
		Name: a.Name, Health: cmp.Or(a.Health, "Unknown"), Sync: cmp.Or(a.SyncStatus, "Unknown"), Revisions: revisionsOf(a.Compared),
		NotCounted: policy.NotCounted(j.in, a), Syncing: a.OperationSet || a.LastOperation.Running(),
	}
	b, blocks := policy.NotDone(j.in, a)
	if !blocks {
		b, blocks = j.blockers[a.Name]
	}
	shown.Done = !blocks || shown.NotCounted != ""
	if blocks {
		shown.Reason, shown.Detail = string(b.Reason), b.Detail
	}
	d, waits := j.waiting[a.Name]
	switch {
	case !waits:
	case d.Outcome != policy.Deny:
		shown.MayStart = true
	case len(d.Blockers) == 0:
		shown.Held = string(d.Reason)
	default:
		for _, b := range d.Blockers {
			shown.WaitsFor = append(shown.WaitsFor, b.Application)
		}
	}
	if listed {
		shown.Believed = believed(recorded)
		shown.Differs = differs(recorded, a, &shown, step)
	}
	if behind := j.behind(a); behind != "" && shown.Done && shown.NotCounted == "" {
		shown.Done, shown.Reason, shown.Detail = false, string(policy.RevisionMismatch), behind
	}
	return shown
}

// sum counts what is done, and finds the current step.
func (r *Rollout) sum(j *judgment) {
	r.Phase = Complete
	var since time.Time
	for i := range r.Steps {
		step := &r.Steps[i]
		for _, a := range step.Applications {
			r.Total++
			if a.Done {
				step.Done++
				r.Done++
				continue
			}
			if t := j.set.Recorded[a.Name].TransitionedAt; a.Believed != nil && a.Believed.Status != "Healthy" && (since.IsZero() || t.Before(since)) {
				since = t
			}
			if r.Step == 0 {
				r.Step = step.Number
			}
			if r.Step == step.Number {
				r.Blockers = append(r.Blockers, Blocker{Application: a.Name, Step: step.Number, Reason: a.Reason, Detail: a.Detail, Do: Do(policy.Reason(a.Reason), a.Name)})
			}
		}
	}
	r.Since = timeOf(since)
	if r.Step > 0 {
		r.Phase = r.Steps[r.Step-1].phase()
	}
}

// phase is that of a rollout whose current step it is.
func (s *Step) phase() Phase {
	for _, a := range s.Applications {
		if !a.Done && (a.Syncing || a.Reason == string(policy.NotHealthy) && a.Health == "Progressing" || policy.Reason(a.Reason).Stale()) {
			return Progressing
		}
	}
	return Waiting
}

func believed(r policy.Recorded) *Believed {
	b := &Believed{Status: "Waiting", Step: r.Step, Revisions: r.Revisions, Since: timeOf(r.TransitionedAt)}
	switch {
	case r.Healthy:
		b.Status = "Healthy"
	case r.Started:
		b.Status = "Progressing"
	case r.Pending:
		b.Status = "Pending"
	}
	return b
}

// differs says how the record of the ApplicationSet controller differs from the truth where that has it start later steps too early, or not at
// all.
func differs(r policy.Recorded, a *policy.Application, shown *Application, step int) string {
	switch {
	case r.Step == -1:
		return ""
	case r.Step != step+1:
		return fmt.Sprintf("believes that it is in step %d", r.Step)
	case r.Healthy && !shown.Done && shown.Reason != string(policy.HealthStale) && shown.Reason != string(policy.RefreshPending):
		return "believes that it is done" + at(r.Revisions)
	case r.Healthy && r.Behind(a.Compared):
		return "believes that it is Healthy" + at(r.Revisions)
	case (r.Pending || r.Started) && !r.Healthy && len(shown.WaitsFor) > 0:
		return "believes that its turn has come"
	case r.Started && !r.Healthy && shown.Done && !shown.Syncing:
		return "believes that it is still Progressing"
	}
	return ""
}

func at(revisions []string) string {
	if len(revisions) == 0 {
		return ""
	}
	var all []string
	for _, r := range revisions {
		all = append(all, Short(r))
	}
	return " at " + strings.Join(all, ", ")
}

// exempt says what the gate leaves alone in an ApplicationSet now.
func exempt(s webhook.Settings) []string {
	var all []string
	if s.Mode != webhook.Enforce {
		all = append(all, "mode "+s.Mode.String()+": nothing is held or denied")
	}
	if s.Bypassed {
		all = append(all, "bypass "+s.Bypass)
	}
	if s.Excluded != "" {
		all = append(all, "excluded: "+s.Excluded)
	}
	return all
}

// selector is a step's expressions as text, as in "env In (dev, qa)".
func selector(step policy.Step) string {
	if len(step) == 0 {
		return "everything"
	}
	var all []string
	for _, e := range step {
		all = append(all, fmt.Sprintf("%s %s (%s)", e.Key, e.Operator, strings.Join(e.Values, ", ")))
	}
	return strings.Join(all, " and ")
}

func revisionsOf(compared []policy.Source) []string {
	var all []string
	for _, s := range compared {
		all = append(all, s.Revision)
	}
	return all
}

// revisions are all revisions of the Applications, the most frequent one first.
func revisions(owned []*siblings.Projection) []string {
	count := map[string]int{}
	for _, p := range owned {
		for _, s := range p.Application.Compared {
			if s.Revision != "" {
				count[s.Revision]++
			}
		}
	}
	all := make([]string, 0, len(count))
	for r := range count {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	return all
}

// Short cuts a commit to seven characters, as git does, and leaves anything else.
func Short(revision string) string {
	if len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == "" {
		return revision[:7]
	}
	return policy.Printable(revision, 40)
}
