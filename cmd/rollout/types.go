// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/course"
)

// APIVersion stands in everything that the command line prints as JSON or YAML.
const APIVersion = "cli.stepgate.io/v1alpha1"

// Phase is where a rollout is.
type Phase string

// The phases.
const (
	// Complete: every Application of every step is done.
	Complete Phase = "Complete"
	// Progressing: something in the current step is at work, or Argo CD is about to compare it.
	Progressing Phase = "Progressing"
	// Waiting: nothing in the current step is at work. The rollout goes on when its blockers are repaired, or started.
	Waiting Phase = "Waiting"
	// Ungated: the ApplicationSet has no steps, so there is no order to keep.
	Ungated Phase = "NoSteps"
)

// List is all rollouts that were asked for.
type List struct {
	metav1.TypeMeta `json:",inline"`
	Items           []*Rollout `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *List) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

// Rollout is one ApplicationSet.
type Rollout struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	Phase           Phase  `json:"phase"`
	// Step is the number of the current step: the first one that is not done. It is 0 when all are.
	Step  int    `json:"step"`
	Steps []Step `json:"steps"`
	// Waves says that its steps are the sync waves of its Applications, lowest first.
	Waves bool `json:"waves,omitempty"`
	// Done and Total count the Applications of all steps.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Needs are what has to end first, those about which somebody has to do something before the others.
	Needs []Need `json:"needs,omitempty"`
	// Since is since when the ApplicationSet controller has had one of its Applications wait; absent when none does, or
	// that is not known.
	Since *metav1.Time `json:"since,omitempty"`
	// Revisions are those that Applications of the ApplicationSet are compared with, the most frequent one first.
	Revisions []string `json:"revisions,omitempty"`
	// Unselected are the Applications that no step selects. The gate does not judge them.
	Unselected []string `json:"unselected,omitempty"`
	// Open says that nothing is held or denied now: what waits for others would wait if the gate held it.
	Open bool `json:"open,omitempty"`
	// Exempt says why the gate lets everything through now, or lets some Applications hold nobody up.
	Exempt []string `json:"exempt,omitempty"`
	// Problems are the annotations that could not be read.
	Problems []string `json:"problems,omitempty"`
	// After are what it, or one of its Applications, comes after, and Track is the key of the label that tells its tracks
	// apart.
	After []After `json:"after,omitempty"`
	Track string  `json:"track,omitempty"`
	// WaitAfter are the Applications whose syncs wait for something of After now.
	WaitAfter []string `json:"waitAfter,omitempty"`
	// Starves says that newer commits keep taking the place of what waits for a condition, and what to do.
	Starves string `json:"starves,omitempty"`
	// Alone says that it is an Application that no ApplicationSet controls.
	Alone bool `json:"alone,omitempty"`
	// without are its Applications where it has no steps, and comes after others.
	without []Application
	// sources are those of its Applications, at what they are compared with and have deployed.
	sources []policy.Source
	// older says that Applications may deploy older candidates than what they were last compared with.
	older bool
}

// DeepCopyObject implements runtime.Object.
func (r *Rollout) DeepCopyObject() runtime.Object {
	c := *r
	return &c
}

// Need is something that a rollout waits for, and that waits for nothing else itself: the root of what holds syncs up.
type Need struct {
	// Reason is the one of docs/decisions.md.
	Reason string `json:"reason"`
	// Actor is who ends it: You, ArgoCD or Time.
	Actor string `json:"actor"`
	// ApplicationSet is the one whose need it is, as NAMESPACE/NAME: another one where the rollout comes after that. It is
	// empty for an Application that none controls.
	ApplicationSet string `json:"applicationSet,omitempty"`
	// Step is the number of the step, 0 if it is in none, and Application is empty where it is about the whole step. Wave
	// is the sync wave that the step is: Step is 0 for one of another ApplicationSet.
	Step        int    `json:"step"`
	Wave        *int   `json:"wave,omitempty"`
	Application string `json:"application,omitempty"`
	// Text says what it is, and Do what to do about it. All that tells people about it uses these words.
	Text string `json:"text"`
	Do   string `json:"do,omitempty"`
	// Command does that in a terminal; empty where no command does. Verb is resume, approve or refresh where the dashboard
	// can do it.
	Command string `json:"command,omitempty"`
	Verb    string `json:"verb,omitempty"`
	// Until is when it ends by itself, if nothing changes until then.
	Until *metav1.Time `json:"until,omitempty"`
	// Holds counts the Applications whose syncs wait for it, and Held are the first of them.
	Holds int      `json:"holds"`
	Held  []string `json:"held,omitempty"`
	// open is Rollout.Open.
	open bool
}

// Urgency says who has to do something about a rollout. Lists are sorted by it.
type Urgency string

// The urgencies, in the order of lists.
const (
	// NeedsYou: something waits for a person.
	NeedsYou Urgency = "NeedsYou"
	// WaitsByItself: what it waits for ends by itself.
	WaitsByItself Urgency = "WaitsByItself"
	// AtWork: Argo CD is.
	AtWork Urgency = "Running"
	// Finished: nothing is left to do, or there is no order to keep.
	Finished Urgency = "Complete"
)

// Step is one step of a rollout.
type Step struct {
	// Number is 1-based.
	Number int `json:"number"`
	// Wave is the sync wave that the step is; absent for a step of RollingSync.
	Wave *int `json:"wave,omitempty"`
	// rule is the 0-based step of the rule.
	rule int
	// Selector is the step's expressions as text; empty for a wave.
	Selector string `json:"selector"`
	// MaxUpdate is as written; empty if there is none.
	MaxUpdate string `json:"maxUpdate,omitempty"`
	Done      int    `json:"done"`
	// Candidate is what is deployed next, as the gate says, and what it lacks; absent where pinning goes not by candidates, or
	// the gate was not asked.
	Candidate *course.Candidate `json:"candidate,omitempty"`
	// Conditions are what its syncs wait for beside the order: first those that do not hold, then those that hold.
	Conditions   []Condition   `json:"conditions,omitempty"`
	Applications []Application `json:"applications"`
}

// Blocker is an Application that is not done, with the reason and what to do about it.
type Blocker struct {
	Application string `json:"application"`
	// Cluster is the one that it deploys to; absent for the one in which Argo CD runs.
	Cluster string `json:"cluster,omitempty"`
	Step    int    `json:"step"`
	// Wave is the sync wave that the step is; absent for a step of RollingSync.
	Wave   *int   `json:"wave,omitempty"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	// Do says what to do about it.
	Do string `json:"do"`
	// ends is which comparison may end it.
	ends policy.Comparison
	// Says is what Argo CD itself says of it; absent if it says nothing, or was not asked.
	Says string `json:"says,omitempty"`
}

// Application is one Application of a step.
type Application struct {
	Name string `json:"name"`
	// Track is the value of the label that tells the tracks apart; absent for one in every track.
	Track string `json:"track,omitempty"`
	// Cluster is the one that it deploys to; absent for the one in which Argo CD runs.
	Cluster string `json:"cluster,omitempty"`
	Health  string `json:"health"`
	Sync    string `json:"sync"`
	// Revisions are what Argo CD last compared it with, one for each source.
	Revisions []string `json:"revisions,omitempty"`
	// Runs are the revisions that it has deployed, one for each source, and Since is since when.
	Runs  []string     `json:"runs,omitempty"`
	Since *metav1.Time `json:"since,omitempty"`
	// ran are all that it has deployed, oldest first, as far as its history goes.
	ran  []string
	Done bool `json:"done"`
	// Reason and Detail say why it is not done.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
	// do is what to do about that, and ends which comparison may end it.
	do   string
	ends policy.Comparison
	// behind says that another one was compared with a newer revision of the same source.
	behind bool
	// open is Rollout.Open.
	open bool
	// NotCounted says why it holds nobody up although it is not done.
	NotCounted string `json:"notCounted,omitempty"`
	// Syncing says that an operation of it is set or runs.
	Syncing bool `json:"syncing,omitempty"`
	// Need is the number of the first need of the rollout that its sync waits for, from 1; 0 if it waits for none.
	Need int `json:"need,omitempty"`
	// Sync to come: MayStart says that nothing holds it up; WaitsFor names the first of those who do, and WaitsForMore
	// counts the others; Held is the reason where it is the Application itself.
	MayStart     bool     `json:"mayStart,omitempty"`
	WaitsFor     []string `json:"waitsFor,omitempty"`
	WaitsForMore int      `json:"waitsForMore,omitempty"`
	Held         string   `json:"held,omitempty"`
	// Refused says that something has said no to what it would deploy.
	Refused bool `json:"refused,omitempty"`
	// Waits says for which condition of its step it waits, and until when, or that somebody has terminated its sync.
	Waits string `json:"waits,omitempty"`
	// Believed is what the ApplicationSet controller has recorded.
	Believed *Believed `json:"believed,omitempty"`
	// Differs says how that differs from the truth; empty if it does not.
	Differs string `json:"differs,omitempty"`
}

// Believed is an entry of the ApplicationSet's status.
type Believed struct {
	// Status is Waiting, Pending, Progressing or Healthy.
	Status    string       `json:"status"`
	Step      int          `json:"step"`
	Revisions []string     `json:"revisions,omitempty"`
	Since     *metav1.Time `json:"since,omitempty"`
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}
