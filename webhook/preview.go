// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/course"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// Preview tells people what a Gate and its Mutator would do. It takes the same Course as they do, but answers no request,
// records nothing and asks nobody for a refresh. It knows less of the past than a webhook that has watched for a while,
// and is stricter then.
type Preview struct {
	course *course.Course
	view   *slots.View
}

// NewPreview returns a Preview of what an installation with this configuration would do, by what is known. texts tell who
// has the slots of steps, as far as the Applications do not show it; nil if they cannot be asked.
func NewPreview(config settings.Config, known judge.Dependencies, texts slots.Texts) *Preview {
	view := slots.NewView(known.Known, texts, known.Clock)
	j := judge.New(config, known)
	return &Preview{
		course: &course.Course{Judge: j, Known: known.Known, Slots: view, Roots: outlook.NewRoots(j, known.Known, view)},
		view:   view,
	}
}

// Outlook is that of an ApplicationSet now, or of an Application that has the form of one.
func (p *Preview) Outlook(set *argocd.ApplicationSet) *outlook.Outlook {
	return outlook.New(p.course.Judge, set, p.course.Known, p.view)
}

// Candidates are what the Application of a write could deploy, newest first, as the mutating webhook tells of them; none
// where the gate has no say in the write.
func (p *Preview) Candidates(req admissionv1.AdmissionRequest) ([]course.Candidate, error) {
	w, err := judge.NewWrite(req, p.course.Judge.Config.Tracking)
	if err != nil {
		return nil, err
	}
	in, gated := p.course.Judge.Remembered(w, p.course.Known)
	if !gated {
		return nil, nil
	}
	return p.course.Candidates(in), nil
}

// Answer is what would become of a write.
type Answer struct {
	policy.Decision
	Settings settings.Settings
	// Held says that the write goes ahead without its operation.
	Held bool
	// Pinned are the revisions that the operation would carry, one for each source; empty if it is not pinned.
	Pinned []string
	// Message is the text that the writer reads; empty if the write goes ahead with its operation.
	Message string
	// Input is what the Decision was made from, with the Applications as they are known; without an ApplicationSet
	// where there is none.
	Input policy.Input
}

// Rejected reports whether the operation does not go ahead.
func (a *Answer) Rejected() bool { return a.Held || a.Message != "" }

// Write judges one write, on live reads. An error means that there is no decision.
func (p *Preview) Write(ctx context.Context, req admissionv1.AdmissionRequest) (*Answer, error) {
	w, err := judge.NewWrite(req, p.course.Judge.Config.Tracking)
	if err != nil {
		return nil, err
	}
	way := p.course.Of(ctx, w)
	v := way.Verdict
	if !way.Judged {
		v = p.course.Judged(ctx, way.Write)
	}
	if v.Err != nil {
		return nil, v.Err
	}
	answer := &Answer{
		Decision: v.Decision, Settings: v.Settings, Held: way.Held, Pinned: way.Pin.Revisions,
		Input: p.inputOf(ctx, way.Write, v.ApplicationSet),
	}
	switch {
	case answer.Held:
		answer.Message = v.HoldNote()
	case v.Rejects():
		answer.Message = v.Message()
	}
	return answer, nil
}

// inputOf is what a write is judged from as a member of one of its ApplicationSets, "namespace/name".
func (p *Preview) inputOf(ctx context.Context, w *judge.Write, name string) policy.Input {
	j := p.course.Judge
	for _, owner := range w.Owners {
		set, err := j.Live.ApplicationSet(ctx, owner.NamespacedName)
		if err != nil || set == nil || set.UID != string(owner.UID) {
			continue
		}
		w := w
		if child := set.Counts(); child != nil && set.Namespace+"/"+child.Set == name {
			w = w.Lent(set)
			set, err = j.Live.ApplicationSet(ctx, types.NamespacedName{Namespace: set.Namespace, Name: child.Set})
		}
		if err != nil || set == nil || set.Namespace+"/"+set.Name != name {
			continue
		}
		s := j.Parser.OfWrite(set, w.Claim())
		w = w.In(set.Namespace).Under(s.Mode)
		after, _ := j.After(w, s)
		in := j.Input(w, &set.ApplicationSet, s, after)
		in.History = j.History(w, &set.ApplicationSet)
		in.Siblings = judge.InSteps(&set.ApplicationSet, p.course.Known.Owned(types.UID(set.UID)))
		return in
	}
	return policy.Input{}
}
