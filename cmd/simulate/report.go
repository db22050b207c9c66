// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Report is a rollout that has been played.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// ApplicationSet is NAMESPACE/NAME; of a parent it is NAMESPACE/waves/NAME.
	ApplicationSet string `json:"applicationSet"`
	// Rendered says that the Applications come from the generators of the ApplicationSet.
	Rendered bool   `json:"rendered,omitempty"`
	ArgoCD   string `json:"argocd"`
	// Mode of stepgate; off is Argo CD alone.
	Mode  string `json:"mode"`
	Seed  uint32 `json:"seed"`
	Steps []Step `json:"steps"`
	// Unselected are the Applications that are in no step.
	Unselected []string `json:"unselected,omitempty"`
	// Dropped are the fields that are meant for the strategy, and that the API server drops: they are not played.
	Dropped []string `json:"dropped,omitempty"`
	// NotPlayed are the annotations that change what happens, and that the model does not have: what comes of the rollout
	// with them is not known.
	NotPlayed []string `json:"notPlayed,omitempty"`
	// Branches are those on which commits land, in that order.
	Branches []string `json:"branches"`
	Events   []Event  `json:"events"`
	// Complete says that all Applications are done in the end.
	Complete bool `json:"complete"`
	// Seconds is when the last Application was done, or when anything last changed.
	Seconds float64   `json:"seconds"`
	Waiting []Waiting `json:"waiting,omitempty"`
	// Commits is what came of commits that landed one after the other; absent if there was one.
	Commits *CommitsReport `json:"commits,omitempty"`
	// Limits says what the model does not show.
	Limits []string `json:"limits"`

	options Options
	stepOf  map[string]int
	// manual are the Applications that nobody syncs, where Argo CD orders none.
	manual map[string]bool
	// annotated is the annotation of the ApplicationSet that sets the mode, empty if it has none.
	annotated string
}

// Step is a step of the plan.
type Step struct {
	// Step is 1-based.
	Step int `json:"step"`
	// Wave is the sync wave that it is; absent for a step of RollingSync.
	Wave         *int                `json:"wave,omitempty"`
	MaxUpdate    *intstr.IntOrString `json:"maxUpdate,omitempty"`
	Applications []string            `json:"applications,omitempty"`
}

// Event is something that happens in the rollout.
type Event struct {
	// Seconds since the first commit landed.
	Seconds     float64         `json:"seconds"`
	Kind        simulation.Kind `json:"kind"`
	Application string          `json:"application,omitempty"`
	// Step is 1-based.
	Step int `json:"step,omitempty"`
	// Wave is the sync wave that the step is; absent for a step of RollingSync.
	Wave *int `json:"wave,omitempty"`
	// Message is what people read, or why an Application waits.
	Message string `json:"message,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Behind is an Application that had to be done before this start, and was not.
	Behind string `json:"behind,omitempty"`
	// Retries of a sync before it failed.
	Retries int `json:"retries,omitempty"`
}

// Waiting is an Application that is not done in the end.
type Waiting struct {
	Application string `json:"application"`
	Step        int    `json:"step"`
	Wave        *int   `json:"wave,omitempty"`
	Health      string `json:"health"`
	Sync        string `json:"sync"`
	Operation   string `json:"operation,omitempty"`
	// Recorded is what the ApplicationSet's status says of it.
	Recorded string `json:"recorded"`
	// Message is what somebody reads who syncs it now.
	Message string `json:"message,omitempty"`

	// why says for what the ApplicationSet controller lets it wait, or what limits its wave.
	why string
	// byHand says that its turn has come, and that it is for somebody to sync it.
	byHand bool
}

// Waits is an Application that the ApplicationSet controller lets wait; Message says why. It is the only kind that the
// simulation does not tell.
const Waits simulation.Kind = "Waits"

var _ runtime.Object = (*Report)(nil)

// DeepCopyObject returns the report itself: nobody changes it.
func (r *Report) DeepCopyObject() runtime.Object { return r }

// longest is for how long a rollout is played.
const longest = 30 * 24 * time.Hour

// Play plays a rollout.
func Play(ctx context.Context, r *Rollout, o Options) (*Report, error) {
	o.Mode = r.mode(o.Mode)
	t, err := translate(r, o)
	if err != nil {
		return nil, err
	}
	report := &Report{
		TypeMeta:       metav1.TypeMeta{APIVersion: "cli.stepgate.io/v1alpha1", Kind: "Simulation"},
		ApplicationSet: t.Set.String(), Rendered: r.Rendered, ArgoCD: o.Version, Mode: o.Mode.String(), Seed: o.Seed,
		Dropped: r.Dropped, NotPlayed: notPlayed(r, o), Unselected: t.unselected, Branches: t.landings,
		options: o, stepOf: map[string]int{}, manual: map[string]bool{},
	}
	for i, names := range t.steps {
		report.Steps = append(report.Steps, Step{
			Step: i + 1, Wave: t.Steps[i].Wave, MaxUpdate: t.Steps[i].MaxUpdate, Applications: names,
		})
		for _, name := range names {
			report.stepOf[name] = i + 1
		}
	}
	for _, app := range t.Applications {
		report.manual[app.Name] = report.waves() && !app.Automated && !slices.Contains(o.ByHand, app.Name)
	}
	report.annotated = r.Set.Annotations[settings.ModeAnnotation]
	t.Audit = o.Mode == settings.Audit
	script, conductor := newScript(report), newConductor()
	hear := script.hear
	if o.Commits != nil {
		hear = conductor.hear
	}
	end := simulation.NewPlayer().Rehearse(ctx, t.Scenario, o.Mode != settings.Off, longest, o.counting(hear))
	if ctx.Err() != nil {
		return nil, fmt.Errorf("stopped: %w", ctx.Err())
	}
	if end.Unfinished {
		return nil, fmt.Errorf("the rollout takes longer than %.0f days; lower --healthy-after, or raise maxUpdate",
			longest.Hours()/24)
	}
	if end.Endless {
		return nil, errors.New("too much happens in this rollout for the model: play fewer Applications, or fewer commits")
	}
	report.Events = script.written()
	report.conclude(end)
	for i := range report.Waiting {
		if x := &report.Waiting[i]; x.Recorded == string(argo.ProgressiveSyncWaiting) || report.waves() {
			x.why = script.why(script.of[x.Application])
		}
	}
	if o.Commits != nil {
		report.Commits = conductor.commits(report, t)
	}
	report.Limits = append(t.known(o), t.limits...)
	return report, nil
}

// conclude says what came of it.
func (r *Report) conclude(end simulation.Rehearsal) {
	r.Complete = len(end.Waiting) == 0
	r.Seconds = rounded(end.Ended)
	for _, e := range r.Events {
		if r.Complete && e.Kind == simulation.Done {
			r.Seconds = e.Seconds
		}
	}
	for _, x := range end.Waiting {
		r.Waiting = append(r.Waiting, Waiting{
			Application: x.Application, Step: x.Step, Wave: r.Steps[x.Step-1].Wave, Health: x.Health, Sync: x.Sync,
			Operation: x.Operation, Recorded: x.Recorded, Message: played(x.Answer),
			byHand: r.manual[x.Application] && x.Answer == "" && !failed(x.Operation),
		})
	}
}

// Early are the starts that came before their turn.
func (r *Report) Early() []Event {
	var early []Event
	for _, e := range r.Events {
		if e.Behind != "" {
			early = append(early, e)
		}
	}
	return early
}

// Fine reports whether the rollout completes in order, or, while commits land, whether every step goes on; and whether
// all Applications and steps have a part in it.
func (r *Report) Fine() bool {
	if r.Commits != nil {
		_, starves := r.Commits.starves()
		return !starves && r.outside() == ""
	}
	return r.Complete && len(r.Early()) == 0 && r.outside() == ""
}

// outside says what the rollout does not reach: Applications in no step, and steps without one. Empty if it is all of
// them.
func (r *Report) outside() string {
	var texts []string
	if n := len(r.Unselected); n > 0 {
		texts = append(texts, fmt.Sprintf("%s in no step", counted(n, "Application is", "Applications are")))
	}
	for _, step := range r.Steps {
		if len(step.Applications) == 0 {
			texts = append(texts, step.name()+" has no Application")
		}
	}
	return strings.Join(texts, ", and ")
}

// Unknown says what the play leaves open, if it leaves something open.
func (r *Report) Unknown() string {
	if len(r.NotPlayed) == 0 {
		return ""
	}
	it := plural(len(r.NotPlayed) > 1, "it", "them")
	return fmt.Sprintf("Not played: %s. The rollout is shown without %s; with %s, it may go otherwise.",
		strings.Join(r.NotPlayed, ", "), it, it)
}

// rounded is a time of the model, to the millisecond.
func rounded(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
