// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/cmd/rollout"
)

// Overview is all rollouts. The page has these types in TypeScript: `make generate` writes them.
type Overview struct {
	// At is when it was so.
	At metav1.Time `json:"at"`
	// Context is the context of the kubeconfig, and Namespace the only one that is shown; empty for all.
	Context   string `json:"context,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Problem says why what is shown may be old; empty if it is not.
	Problem string `json:"problem,omitempty"`
	Rows    []Row  `json:"rows"`
}

func (o Overview) seenAt(t metav1.Time) any {
	o.At = t
	return o
}

// Row is one rollout in the list of all.
type Row struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Alone says that it is an Application that no ApplicationSet controls.
	Alone bool          `json:"alone,omitempty"`
	Phase rollout.Phase `json:"phase"`
	// Status is the phase, and whether a step is paused beside that.
	Status string `json:"status"`
	// Open says that nothing is held or denied now.
	Open bool `json:"open,omitempty"`
	// Step is the number of the current step, of so many; 0 when all are done. Wave is the sync wave that it is; absent for
	// a step of RollingSync.
	Step  int  `json:"step"`
	Wave  *int `json:"wave,omitempty"`
	Steps int  `json:"steps"`
	Done  int  `json:"done"`
	Total int  `json:"total"`
	// Since is since when the ApplicationSet controller has had an Application wait.
	Since *metav1.Time `json:"since,omitempty"`
	// Urgency says who has to do something. Need is the first that it waits for, absent if there is none, and More counts the
	// others.
	Urgency   rollout.Urgency `json:"urgency"`
	Need      *rollout.Need   `json:"need,omitempty"`
	More      int             `json:"more,omitempty"`
	Revisions []string        `json:"revisions,omitempty"`
}

// rowOf is the row of a rollout.
func rowOf(r *rollout.Rollout) Row {
	row := Row{
		Namespace: r.Namespace, Name: r.Name, Alone: r.Alone, Phase: r.Phase, Status: r.Status(), Step: r.Step,
		Steps: len(r.Steps), Done: r.Done, Total: r.Total, Since: r.Since, Revisions: r.Revisions,
		Urgency: r.Urgency(), Open: r.Open,
	}
	if r.Step > 0 {
		row.Wave = r.Steps[r.Step-1].Wave
	}
	if n := len(r.Needs); n > 0 {
		row.Need, row.More = &r.Needs[0], n-1
	}
	return row
}

// Detail is one rollout.
type Detail struct {
	// At is when it was so.
	At      metav1.Time      `json:"at"`
	Problem string           `json:"problem,omitempty"`
	Rollout *rollout.Rollout `json:"rollout"`
	// Said is what `stepgate get` says of each Application, by its name.
	Said   map[string]Said `json:"said"`
	Rights Rights          `json:"rights"`
	// NeedsMore counts the needs that the rollout has beside the first ones.
	NeedsMore int `json:"needsMore,omitempty"`
	// Commits are the addresses of commits, by the commit, where they are known. ArgoCD is that of Argo CD's UI.
	Commits map[string]string `json:"commits,omitempty"`
	ArgoCD  string            `json:"argocd,omitempty"`
}

func (d Detail) seenAt(t metav1.Time) any {
	d.At = t
	return d
}

// Said is an Application at a glance, and in a few words.
type Said struct {
	Kind rollout.Kind `json:"kind"`
	Text string       `json:"text"`
}

// mostNeeds is how many needs are sent: who reads looks at the first ones.
const mostNeeds = 20

// detailOf is a rollout with its sentences, which name the first of those that it waits for: the names of all of them,
// again and again, would be more than the rest.
func detailOf(r *rollout.Rollout, problem string, rights Rights) Detail {
	shown := *r
	shown.Needs = r.Needs[:min(len(r.Needs), mostNeeds)]
	d := Detail{
		NeedsMore: len(r.Needs) - len(shown.Needs), Problem: problem, Rollout: &shown, Said: map[string]Said{},
		Rights: rights, Commits: r.Commits(),
	}
	shown.Steps = slices.Clone(r.Steps)
	for i := range shown.Steps {
		step := &shown.Steps[i]
		step.Conditions, step.Applications = slices.Clone(step.Conditions), slices.Clone(step.Applications)
		for k := range step.Conditions {
			step.Conditions[k].Applications = nil
		}
		for k := range step.Applications {
			a := &step.Applications[k]
			d.Said[a.Name] = Said{Kind: a.Kind(), Text: a.Sentence()}
			a.WaitsFor, a.WaitsForMore = nil, 0
		}
	}
	return d
}

// Rights are what the user may do in a namespace. What they may not do is not offered.
type Rights struct {
	// Annotate is to patch ApplicationSets: pause, resume, approve.
	Annotate bool `json:"annotate"`
	// Refresh is to patch Applications.
	Refresh bool `json:"refresh"`
}

// Explained is what `stepgate explain` says of an Application.
type Explained struct {
	Explanation *rollout.Explanation `json:"explanation"`
	Verdict     string               `json:"verdict"`
	// Lines are the whole screen.
	Lines []string `json:"lines"`
}

// Timeline is what `stepgate audit` knows of the past of a rollout.
type Timeline struct {
	// Rollouts are the newest ones, the newest first, and More counts the others.
	Rollouts []audit.Rollout `json:"rollouts"`
	More     int             `json:"more"`
}

// Verb is what somebody wants done.
type Verb string

// The verbs.
const (
	Pause   Verb = "pause"
	Resume  Verb = "resume"
	Approve Verb = "approve"
	Refresh Verb = "refresh"
)

// Action is something that the user wants done.
type Action struct {
	Verb      Verb   `json:"verb"`
	Namespace string `json:"namespace"`
	// Name is that of the ApplicationSet, or of the Application to refresh.
	Name string `json:"name"`
	// Step is 1-based, and Wave is a sync wave. Without both it is the whole rollout, or, for an approval, the step that
	// waits for one.
	Step int  `json:"step,omitempty"`
	Wave *int `json:"wave,omitempty"`
	// Reason is why it is paused.
	Reason string `json:"reason,omitempty"`
	// Revision is exactly what to approve; empty for what the step would deploy.
	Revision string `json:"revision,omitempty"`
	// Approves are the texts that the dry run was about to approve. Where it would be others by now, nothing is approved.
	Approves []string `json:"approves,omitempty"`
	// DryRun has the API server and the webhooks judge the change, and stores nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// Number is what people call the step by; nil if none is named.
func (a *Action) Number() *int {
	if a.Wave == nil && a.Step != 0 {
		return &a.Step
	}
	return a.Wave
}

// Answer is what came of an Action.
type Answer struct {
	OK bool `json:"ok"`
	// Lines are what the command prints, or the error.
	Lines []string `json:"lines"`
	// Command does the same in a terminal; empty if no command of stepgate does.
	Command string `json:"command,omitempty"`
	// Approves are the texts that would be approved, or are.
	Approves []string `json:"approves,omitempty"`
}

// Failure is the body of every answer with a status of 400 or more.
type Failure struct {
	Error string `json:"error"`
}
