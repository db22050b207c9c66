// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Approve approves what a step is about to deploy. The error is command.ErrFound where nobody was recorded.
type Approve struct {
	Verb
	// Seen is what somebody was shown before: where it would be something else by now, nothing is approved. Without it, it
	// is not looked at.
	Seen []string
}

// Do writes an approval, and shows it first. set is the ApplicationSet as it was looked at.
func (a *Approve) Do(ctx context.Context, set *argocd.ApplicationSet, proposal *rollout.Proposal) error {
	if a.Seen != nil && !slices.Equal(a.Seen, proposal.Texts()) {
		return fmt.Errorf("what %s would deploy has changed meanwhile: nothing is approved, look at it again",
			proposal.Name())
	}
	name := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
	if err := a.print(proposal.Lines(a.Screen)...); err != nil {
		return err
	}
	if proposal.Approved() {
		return a.print("It is approved already. " + proposal.Next())
	}
	// An entry that is there and does not count was written without stepgate, or by somebody who may not approve this.
	// The webhook records who writes it only if it is new.
	if a.DryRun && hasApproval(set.Annotations.Text(settings.ApprovedAnnotation), proposal.Step, proposal.Texts()) {
		return a.print("It is in " + settings.ApprovedAnnotation +
			" and does not count: it would be removed, and written again. This was a dry run: nothing is stored.")
	}
	if !a.DryRun {
		_, _, err := a.annotate(ctx, name, a.decide(set, func(text string) string {
			if !hasApproval(text, proposal.Step, proposal.Texts()) {
				return text
			}
			return withoutApprovals(text, proposal.Step, proposal.Texts())
		}))
		if err != nil {
			return err
		}
	}
	after, made, err := a.annotate(ctx, name, a.decide(set, func(text string) string {
		return withApprovals(text, proposal.Step, proposal.Texts(), proposal.Current)
	}))
	if err != nil {
		return err
	}
	lines, recorded := a.recorded(after, proposal)
	if recorded {
		lines = append(lines, proposal.Next())
	}
	lines = append(lines, a.caveats(after, a.settings(after), settings.ApproveAnnotation)...)
	if err := a.show(name, made, lines...); err != nil || recorded {
		return err
	}
	return command.ErrFound
}

// decide changes the approvals of an ApplicationSet that is as it was looked at.
func (a *Approve) decide(
	seen *argocd.ApplicationSet, change func(text string) string,
) func(set *argo.ApplicationSet) (edits, error) {
	return func(set *argo.ApplicationSet) (edits, error) {
		now := argocd.NewApplicationSet(set)
		if now.UID != seen.UID || !now.SameSteps(&seen.ApplicationSet) ||
			now.Annotations.Text(settings.ApproveAnnotation) != seen.Annotations.Text(settings.ApproveAnnotation) {
			return nil, fmt.Errorf(
				"somebody has changed the steps of %s meanwhile: nothing is approved, look at it again",
				policy.Called(set.Namespace+"/"+set.Name),
			)
		}
		was := set.Annotations[settings.ApprovedAnnotation]
		switch is := change(was); is {
		case was:
			return nil, nil
		case "":
			return edits{settings.ApprovedAnnotation: nil}, nil
		default:
			return edits{settings.ApprovedAnnotation: text(is)}, nil
		}
	}
}

// stamp is what stepgate's webhook records about an approval.
type stamp struct {
	Step int    `json:"step"`
	Of   string `json:"of"`
	By   string `json:"by"`
	At   string `json:"at"`
}

// recorded says who is recorded for the approvals, and whether somebody is for all of them.
func (a *Approve) recorded(set *argo.ApplicationSet, proposal *rollout.Proposal) (lines []string, all bool) {
	var stamps []stamp
	_ = json.Unmarshal([]byte(set.Annotations[settings.ApprovedByAnnotation]), &stamps) // without it, nothing is recorded
	var who []string
	for _, what := range proposal.Texts() {
		i := slices.IndexFunc(stamps, func(s stamp) bool { return s.Step == proposal.Step && s.Of == what && s.By != "" })
		if i < 0 {
			warning := a.Screen.Paint(screen.Busy, screen.SignWarning)
			return []string{warning + " stepgate's webhook did not write into " + settings.ApprovedByAnnotation +
				" who has approved " + policy.Short(what) +
				", and so the approval does not count. See stepgate doctor, and then approve again."}, false
		}
		at := stamps[i].At
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			at = t.UTC().Format(time.RFC3339)
		}
		if text := policy.Printable(stamps[i].By, mostShown) + " at " +
			policy.Printable(at, mostShown); !slices.Contains(who, text) {
			who = append(who, text)
		}
	}
	return []string{"Approved by " + strings.Join(who, ", and by ") + "."}, true
}

// hasApproval reports whether the value of the annotation has one of these approvals of a step.
func hasApproval(value string, step int, whats []string) bool {
	return slices.ContainsFunc(strings.Split(value, ","), func(part string) bool {
		of, what, is := entryOf(part)
		return is && of == step && slices.Contains(whats, what)
	})
}

// entryOf reads STEP@WHAT.
func entryOf(text string) (step int, what string, is bool) {
	number, what, is := strings.Cut(strings.TrimSpace(text), "@")
	step, err := strconv.Atoi(strings.TrimSpace(number))
	return step, strings.TrimSpace(what), is && err == nil
}

// withApprovals is the value of the annotation with approvals of a step, and without those of the same step that are
// neither these nor current. It leaves the entries of other steps as they are, and those that it cannot read.
func withApprovals(value string, step int, whats, current []string) string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		of, what, is := entryOf(part)
		outdated := is && of == step && !slices.Contains(current, what)
		if strings.TrimSpace(part) == "" || is && of == step && slices.Contains(whats, what) || outdated {
			continue
		}
		parts = append(parts, strings.TrimSpace(part))
	}
	for _, what := range whats {
		parts = append(parts, strconv.Itoa(step)+"@"+what)
	}
	if was := strings.Split(value, ","); sameEntries(was, parts) {
		return value
	}
	return strings.Join(parts, ",")
}

// withoutApprovals is the value of the annotation without these approvals of a step.
func withoutApprovals(value string, step int, whats []string) string {
	parts := slices.DeleteFunc(strings.Split(value, ","), func(part string) bool {
		of, what, is := entryOf(part)
		return is && of == step && slices.Contains(whats, what)
	})
	return strings.Join(parts, ",")
}

func sameEntries(a, b []string) bool {
	sorted := func(all []string) []string {
		var trimmed []string
		for _, one := range all {
			trimmed = append(trimmed, strings.TrimSpace(one))
		}
		slices.Sort(trimmed)
		return trimmed
	}
	return slices.Equal(sorted(a), sorted(b))
}
