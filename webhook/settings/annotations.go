// SPDX-License-Identifier: Apache-2.0

package settings

import "github.com/stepgate/stepgate/webhook/argocd"

// The annotations of an ApplicationSet that configure its gate. On its Applications they would be useless, but for
// AfterAnnotation: the ApplicationSet controller removes those that its template does not have.
const (
	ModeAnnotation    = "stepgate.io/mode"
	RequireAnnotation = "stepgate.io/require"
	PinAnnotation     = "stepgate.io/pin"
	// BypassAnnotation says until when everything goes through, and why.
	BypassAnnotation = "stepgate.io/bypass"
	// ExcludeAnnotation names Applications that hold nobody up, and says until when, and why.
	ExcludeAnnotation = "stepgate.io/exclude"
)

// The annotations of an ApplicationSet that say what its steps wait for beside the order.
const (
	// PauseAnnotation names steps in which nothing new starts, and may say why.
	PauseAnnotation = "stepgate.io/pause"
	// PausedByAnnotation says who set PauseAnnotation, and when. stepgate writes it.
	PausedByAnnotation = "stepgate.io/paused-by"
	SoakAnnotation     = "stepgate.io/soak"
	// ApproveAnnotation names the steps that need an approval, and ApprovedAnnotation has the approvals.
	ApproveAnnotation  = "stepgate.io/approve"
	ApprovedAnnotation = "stepgate.io/approved"
	// ApprovedByAnnotation says who has approved, and when. stepgate writes it.
	ApprovedByAnnotation  = "stepgate.io/approved-by"
	MaxFailuresAnnotation = "stepgate.io/max-failures"
	// VerifyAnnotation names objects of the cluster that have to say yes to what a step deploys.
	VerifyAnnotation = "stepgate.io/verify"
	// AfterAnnotation names ApplicationSets and Applications after which everything of the ApplicationSet comes, or the
	// Application that has it.
	AfterAnnotation = argocd.AfterAnnotation
	// WavesAnnotation has sync waves be steps, and MaxUpdateAnnotation limits how many Applications of one sync at a time.
	WavesAnnotation     = argocd.WavesAnnotation
	MaxUpdateAnnotation = argocd.MaxUpdateAnnotation
	// TrackAnnotation names the label by whose value the Applications of a step are told apart.
	TrackAnnotation = "stepgate.io/track"
)

// Annotation is what there is to say about an annotation of an ApplicationSet.
type Annotation struct {
	Name string
	// Beside is the annotation without which it has no effect; empty for one that has an effect by itself.
	Beside string
	// Values are what it may hold, Writer is who writes it, and Effect is what follows, for
	// docs/reference/annotations.md.
	Values, Writer, Effect string
}

// Who writes annotations.
const (
	people   = "you"
	stepgate = "stepgate"
)

// All are all annotations of an ApplicationSet. One that belongs to another one stands after it.
func All() []Annotation {
	return []Annotation{
		{ModeAnnotation, "", "`enforce`, `audit` or `off`", people, "Overrides `--mode`."},
		{RequireAnnotation, "", "`health`, `completed` or `revision`", people, "Overrides `--require`."},
		{PinAnnotation, "", "`compared` or `candidate`", people, "Overrides `--pin`."},
		{BypassAnnotation, "", "a time (RFC 3339), at most 24 h ahead, and a reason: `2026-11-21T18:00:00Z INC-1234`", people,
			"Lets every sync through until then."},
		{ExcludeAnnotation, "", "names of Applications, separated by commas without spaces, such a time and a reason: " +
			"`dev-eu,dev-us 2026-11-21T18:00:00Z INC-1234`", people, "They hold nobody up until then."},
		{PauseAnnotation, "", "`all`, or numbers of steps, and perhaps a reason: `3,4: INC-1234`", people,
			"Nothing new starts in these steps. Denials show the reason."},
		{PausedByAnnotation, PauseAnnotation, "user and time", stepgate, "Says who has paused, and when."},
		{SoakAnnotation, "", "a duration such as `30m`, or one for each step: `3=1h,4=24h`", people,
			"A step waits until the earlier steps have been deployed and Healthy for that long."},
		{ApproveAnnotation, "", "`all`, or numbers of steps such as `3,4`", people, "These steps wait for an approval."},
		{ApprovedAnnotation, ApproveAnnotation, "`STEP@REVISION`, separated by commas", "approvers",
			"Approves what the step is about to deploy. `stepgate approve` writes it."},
		{ApprovedByAnnotation, ApproveAnnotation, "approval, user and time", stepgate, "Says who has approved, and when."},
		{MaxFailuresAnnotation, "", "a number, or a share of the step such as `10%`", people,
			"Once more Applications of a step have failed, no other one of it starts."},
		{VerifyAnnotation, "", "`STEP=RESOURCE.GROUP/NAME`, separated by semicolons: `3=analysisruns.argoproj.io/smoke`", people,
			"The step waits until such an object, labelled with the revision, says yes."},
		{AfterAnnotation, "", "names of ApplicationSets or Applications, separated by commas: `infra, platform/base`", people,
			"Nothing of it starts before everything of those is done. It counts on an Application, too."},
		{WavesAnnotation, "", "`true` or `false`", people,
			"Without RollingSync: the sync waves of the Applications (`argocd.argoproj.io/sync-wave`) are its steps."},
		{MaxUpdateAnnotation, WavesAnnotation, "a limit such as `3`, or one for each wave: `10=25%,20=3`", people,
			"How many Applications of a wave sync at a time, with `config.maxUpdate`."},
		{TrackAnnotation, "", "the key of a label", people,
			"Steps, and what is counted in them, hold among the Applications that share its value."},
	}
}

// Annotations are the annotations that an installation may allow or not. Those that belong to another one go with it.
func Annotations() []string {
	var names []string
	for _, a := range All() {
		if a.Beside == "" && a.Name != WavesAnnotation { // it adds an order, and takes none away
			names = append(names, a.Name)
		}
	}
	return names
}

// BypassInfo is the name of the operation.info entry that asks for a bypass of this one sync. Its value is the reason.
const BypassInfo = BypassAnnotation
