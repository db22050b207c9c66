package webhook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// The annotations of an ApplicationSet that configure its gate. On an Application they would be useless: the
// ApplicationSet controller removes them.
const (
	ModeAnnotation         = "stepgate.io/mode"
	RequireAnnotation      = "stepgate.io/require"
	BypassUntilAnnotation  = "stepgate.io/bypass-until"
	BypassReasonAnnotation = "stepgate.io/bypass-reason"
	// ExcludeAnnotation names Applications, separated by commas, that hold nobody up until ExcludeUntilAnnotation.
	ExcludeAnnotation       = "stepgate.io/exclude"
	ExcludeUntilAnnotation  = "stepgate.io/exclude-until"
	ExcludeReasonAnnotation = "stepgate.io/exclude-reason"
)

// The annotations of an ApplicationSet that say what its steps wait for beside the order.
const (
	PauseAnnotation       = "stepgate.io/pause"
	PauseReasonAnnotation = "stepgate.io/pause-reason"
	// PausedByAnnotation says who set PauseAnnotation, and when. stepgate writes it.
	PausedByAnnotation = "stepgate.io/paused-by"
	SoakAnnotation     = "stepgate.io/soak"
	// ApproveAnnotation names the steps that need an approval, and ApprovedAnnotation has the approvals.
	ApproveAnnotation  = "stepgate.io/approve"
	ApprovedAnnotation = "stepgate.io/approved"
	// ApprovedByAnnotation says who has approved, and when. stepgate writes it.
	ApprovedByAnnotation  = "stepgate.io/approved-by"
	MaxFailuresAnnotation = "stepgate.io/max-failures"
)

// Annotations are the annotations that an installation may allow or not. Those that end or explain another one belong to it.
func Annotations() []string {
	return []string{
		ModeAnnotation, RequireAnnotation, BypassUntilAnnotation, ExcludeAnnotation,
		PauseAnnotation, SoakAnnotation, ApproveAnnotation, MaxFailuresAnnotation,
	}
}

// BypassInfo is the name of the operation.info entry that asks for a bypass of this one sync.
const BypassInfo = "stepgate.io/bypass"

// maxBypass is how far ahead a bypass or an exclusion may reach.
const maxBypass = 24 * time.Hour

// settings is the configuration for one write.
type settings struct {
	policy.Settings
	mode Mode
	// bypass names who or which annotation allowed the bypass, or says why a requested one is not honoured.
	bypass string
	// excluded says which Applications are excluded, until when and why; empty when none is.
	excluded string
	// malformed are the annotations whose value could not be read, of which the stricter reading counts, and those that are not allowed.
	malformed []malformed
}

type malformed struct {
	annotation string
	problem    string
}

// settingsFor merges the defaults with the annotations of the ApplicationSet and the bypass in the operation itself.
func (g *Gate) settingsFor(set *argocd.ApplicationSet, w *write) settings {
	s := g.annotated(set)
	if set != nil && w.bypass != "" && !s.Bypassed {
		s.Bypassed, s.bypass = g.bypassInSync(w)
	}
	return s
}

// annotated merges the defaults with the annotations of the ApplicationSet. It reports an annotation that it cannot read and takes
// the stricter reading: enforce, revision, no bypass, and every condition. One that is not allowed changes nothing.
func (g *Gate) annotated(set *argocd.ApplicationSet) settings {
	s := settings{mode: g.config.Mode, Settings: policy.Settings{
		Require: g.config.Require, GateRollbacks: g.config.GateRollbacks, AllowFailedOperations: g.config.AllowFailedOperations, Settling: g.config.Settling,
	}}
	if set == nil {
		return s
	}
	if text, ok := g.annotation(&s, set, ModeAnnotation); ok {
		mode, err := ParseMode(text)
		s.mode, s.Off = mode, mode == Off
		s.note(ModeAnnotation, err)
	}
	if text, ok := g.annotation(&s, set, RequireAnnotation); ok {
		require, err := policy.ParseRequire(text)
		s.Require = require
		s.note(RequireAnnotation, err)
	}
	if text, ok := g.annotation(&s, set, BypassUntilAnnotation); ok {
		reason, err := g.validUntil(text, BypassReasonAnnotation, set.Annotations[BypassReasonAnnotation])
		s.Bypassed, s.bypass = reason != "", reason
		s.note(BypassUntilAnnotation, err)
	}
	if names, ok := g.annotation(&s, set, ExcludeAnnotation); ok {
		s.note(ExcludeAnnotation, g.exclude(&s, names, set.Annotations))
	}
	s.Conditions = g.conditions(&s, set)
	s.Pin = g.config.Pin != PinOff && s.mode == Enforce
	s.Train = s.Pin && g.config.Pin == PinProven
	return s
}

// annotation returns an annotation of an ApplicationSet, if it is allowed.
func (g *Gate) annotation(s *settings, set *argocd.ApplicationSet, name string) (text string, ok bool) {
	if text, ok = set.Annotations[name]; ok && slices.Contains(g.config.IgnoredAnnotations, name) {
		s.malformed = append(s.malformed, malformed{annotation: name, problem: "ignored: this installation does not allow it (--allowed-annotations)"})
		return "", false
	}
	return text, ok
}

func (s *settings) note(annotation string, err error) {
	if err != nil {
		s.malformed = append(s.malformed, malformed{annotation: annotation, problem: "not valid, the stricter reading is used: " + err.Error()})
	}
}

// exclude reads which Applications are excluded now. An exclusion without an end, or without a reason, excludes nobody.
func (g *Gate) exclude(s *settings, names string, annotations map[string]string) error {
	reason, err := g.validUntil(annotations[ExcludeUntilAnnotation], ExcludeReasonAnnotation, annotations[ExcludeReasonAnnotation])
	if err != nil {
		return fmt.Errorf("%s: %w", ExcludeUntilAnnotation, err)
	}
	if reason == "" {
		return nil
	}
	s.Excluded = map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			s.Excluded[name] = true
		}
	}
	s.excluded = names + " " + reason
	return nil
}

// validUntil returns the end and the reason of an exemption that is in force now, or "". An expired one is no error.
func (g *Gate) validUntil(until, reasonAnnotation, reason string) (string, error) {
	end, err := time.Parse(time.RFC3339, until)
	now := g.Now()
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is not an RFC 3339 time such as %s", until, now.UTC().Add(time.Hour).Format(time.RFC3339))
	case !end.After(now):
		return "", nil
	case end.After(now.Add(maxBypass)):
		return "", fmt.Errorf("%s is more than 24 h ahead", until)
	case strings.TrimSpace(reason) == "":
		return "", fmt.Errorf("it needs %s beside it", reasonAnnotation)
	}
	return fmt.Sprintf("until %s: %s", until, reason), nil
}

// bypassInSync honours a bypass in the operation only from a user on the allow-list, and believes the operation's
// initiatedBy only when argocd-server wrote it.
func (g *Gate) bypassInSync(w *write) (bool, string) {
	switch {
	case !slices.Contains(g.config.ServerAccounts, w.user):
		return false, fmt.Sprintf("%s not honoured: %s is not argocd-server", w.bypass, w.user)
	case !slices.Contains(g.config.BypassUsers, w.initiatedBy):
		return false, fmt.Sprintf("%s not honoured: user %q may not bypass (--bypass-user)", w.bypass, w.initiatedBy)
	}
	return true, fmt.Sprintf("%s by %s", w.bypass, w.initiatedBy)
}

// infoOf returns the value of an entry of operation.info, or "".
func infoOf(op *argo.Operation, name string) string {
	for _, info := range op.Info {
		if info != nil && info.Name == name {
			return strings.TrimSpace(info.Value)
		}
	}
	return ""
}
