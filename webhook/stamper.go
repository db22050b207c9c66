// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// MutateApplicationSetPath is where a Stamper is served.
const MutateApplicationSetPath = "/mutate-applicationset"

// Stamper writes into an ApplicationSet who has approved and who has paused, as the API server says, and warns whoever
// writes an annotation that stepgate cannot read, or an Application that comes after what does not exist. It admits
// everything, in every mode, and changes only the annotations ApprovedByAnnotation and PausedByAnnotation. Without it,
// approvals are refused (ApprovalCheck), and a pause does not say who set it.
type Stamper struct {
	clock  clock.PassiveClock
	config settings.Config
	parser *settings.Parser
	known  judge.KnownSets
	actor  string
}

// NewStamper returns a Stamper that warns as an installation with this configuration reads annotations. known tells
// whether there is what they name, and actor is the account that writes for users of Argo CD; empty if none does.
func NewStamper(config settings.Config, known judge.KnownSets, actor string, clock clock.PassiveClock) *Stamper {
	return &Stamper{
		clock: clock, config: config, parser: settings.NewParser(config, clock), known: known, actor: actor,
	}
}

var _ webhook.AdmissionHandler = (*Stamper)(nil)

// Handle answers with the patches of one write. It reads nothing from the API server, and records nothing.
func (s *Stamper) Handle(_ context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	application := req.Kind.Group == argo.SchemeGroupVersion.Group && req.Kind.Kind == "Application"
	w, err := newSetWrite(req.AdmissionRequest, s.clock.Now(), s.actor)
	switch {
	case err != nil && application:
		return unchanged() // this is no judgment, and a write of an Application is not refused for it
	case err != nil:
		return badRequest(err)
	case w == nil:
		return unchanged()
	}
	stamped := approval.Mutate(w.Old, w.New, w.User, w.At)
	set := argocd.NewApplicationSet(w.set)
	set.Annotations = set.Annotations.With(stamped)
	response := warned(s.problems(req.AdmissionRequest, set, application))
	response.Patches = stampPatches(w.New, stamped)
	return response
}

// problems are what is wrong with the annotations of a write. Those of an Application are its own, and those of the order
// that it gives its children.
func (s *Stamper) problems(
	req admissionv1.AdmissionRequest, set *argocd.ApplicationSet, application bool,
) (all []settings.Problem) {
	if !application || set.Waves {
		read := s.parser.Of(set)
		all = slices.Concat(read.Problems, settings.Unreadable(set.Subscriptions),
			judge.AfterProblems(s.parser, s.known, judge.FollowerOf(set, ""), read.After))
		if read.NoGate != "" && application {
			all = append(all, settings.Problem{Annotation: settings.WavesAnnotation, Text: "ignored: " + read.NoGate})
		}
	}
	if !application {
		return all
	}
	if err := set.MaxUpdateProblem(); err != nil && !set.Waves {
		all = append(all, settings.Problem{Annotation: settings.MaxUpdateAnnotation, Text: "ignored: " + err.Error()})
	}
	if err := argocd.SyncWaveProblem(set.Annotations); err != nil {
		all = append(all, settings.Problem{Annotation: synccommon.AnnotationSyncWave, Text: err.Error()})
	}
	for _, p := range s.ofApplication(req) {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// ofApplication is what is wrong with what an Application comes after by its own annotation. Of an object that cannot be
// read, that is nothing: this is no judgment, and refuses no write.
func (s *Stamper) ofApplication(req admissionv1.AdmissionRequest) []settings.Problem {
	app, err := argocd.Decode(req.Object.Raw)
	if err != nil || app == nil || app.Metadata.DeletionTimestamp != nil {
		return nil
	}
	set := argocd.Alone(req.Namespace, "", argocd.Annotations{})
	owners := &metav1.ObjectMeta{OwnerReferences: app.Metadata.OwnerReferences}
	if owner := metav1.GetControllerOfNoCopy(owners); owner != nil {
		if known, _ := s.known.Set(types.NamespacedName{Namespace: req.Namespace, Name: owner.Name}); known != nil {
			set = known
		}
	}
	own, problems := s.parser.OfApplication(set.Namespace, app.Metadata.Annotations)
	if owners.OwnerReferences == nil && s.config.Waves {
		problems = append(problems, s.ofParents(app)...)
	}
	return append(problems, judge.AfterProblems(s.parser, s.known, judge.FollowerOf(set, app.Metadata.Name), own)...)
}

// ofParents is what is wrong with the parents that an Application has by Argo CD's tracking.
func (s *Stamper) ofParents(app *argocd.Application) (problems []settings.Problem) {
	named, other := s.config.Tracking.Parents(app)
	if named.Name == "" {
		return nil
	}
	tell := func(text string) {
		problems = append(problems, settings.Problem{
			Annotation: common.AnnotationKeyAppInstance, Text: policy.ClientText(text),
		})
	}
	if s.known.Application(named) == nil {
		tell("of Application " + named.String() + ", which does not exist: nobody orders this one")
	}
	if p := s.known.Application(other); p != nil && p.Waves != nil && other != named {
		tell(fmt.Sprintf("of Application %s, and the label %s of %s, which has waves: these do not count here", named,
			common.LabelKeyAppInstance, other))
	}
	return problems
}

// warned admits a write, and tells whoever makes it of problems.
func warned(problems []settings.Problem) webhook.AdmissionResponse {
	response := unchanged()
	for _, p := range problems {
		response.Warnings = append(response.Warnings, warning("stepgate: "+p.String()))
	}
	return response
}

// stampPatches change the annotations of stepgate's own from sent to stamped.
func stampPatches(sent, stamped map[string]string) []jsonpatch.Operation {
	var patches []jsonpatch.Operation
	for _, name := range []string{settings.ApprovedByAnnotation, settings.PausedByAnnotation} {
		before, had := sent[name]
		after, has := stamped[name]
		path := "/metadata/annotations/" + strings.ReplaceAll(name, "/", "~1")
		switch {
		case has && (!had || before != after):
			patches = append(patches, jsonpatch.NewOperation("add", path, after))
		case had && !has:
			patches = append(patches, jsonpatch.NewOperation("remove", path, nil))
		}
	}
	return patches
}
