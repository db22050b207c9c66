package webhook

import (
	"context"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/order"
	"github.com/stepgate/stepgate/webhook/settings"
)

// MutateApplicationSetPath is where a Stamper is served.
const MutateApplicationSetPath = "/mutate-applicationset"

// Stamper writes into an ApplicationSet who has approved and who has paused, as the API server says, and warns whoever
// writes an annotation that stepgate cannot read. It admits everything, in every mode, and changes only the annotations
// ApprovedByAnnotation and PausedByAnnotation. Without it, approvals are refused (ApprovalCheck), and a pause does not
// say who set it.
type Stamper struct {
	clock  clock.PassiveClock
	orders *order.Orders
	known  judge.KnownSets
}

// NewStamper returns a Stamper that warns as an installation with this configuration reads annotations. known tells
// whether there is what they name.
func NewStamper(config settings.Config, known judge.KnownSets, clock clock.PassiveClock) *Stamper {
	return &Stamper{clock: clock, orders: order.New(settings.NewParser(config, clock)), known: known}
}

var _ webhook.AdmissionHandler = (*Stamper)(nil)

// Handle answers with the patches of one write. It reads nothing from the API server, and records nothing.
func (s *Stamper) Handle(_ context.Context, req webhook.AdmissionRequest) webhook.AdmissionResponse {
	w, err := newSetWrite(req.AdmissionRequest, s.clock.Now())
	switch {
	case err != nil:
		return badRequest(err)
	case w == nil:
		return unchanged()
	}
	response := unchanged()
	stamped := approval.Mutate(w.Old, w.New, w.User, w.At)
	response.Patches = stampPatches(w.New, stamped)
	w.set.Annotations = stamped
	set := argocd.NewApplicationSet(w.set)
	for _, p := range append(s.orders.Parser.Of(set).Problems, judge.AfterProblems(s.orders, s.known, set)...) {
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
