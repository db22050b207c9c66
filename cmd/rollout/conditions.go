// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// Condition is something that a step waits for beside the order of the steps, or has waited for.
type Condition struct {
	// Reason is the one of docs/decisions.md that a sync waits for until the condition is met.
	Reason string `json:"reason"`
	// Met says that it holds nothing up.
	Met bool `json:"met"`
	// Refused says that something has said no: to wait does not help.
	Refused bool `json:"refused,omitempty"`
	// Text says it in a few words. It names moments, and never counts down.
	Text string `json:"text"`
	// Until is when it ends by itself, if nothing changes until then.
	Until *metav1.Time `json:"until,omitempty"`
	// By is who has paused or approved, and At is when, as far as stepgate has recorded that.
	By string       `json:"by,omitempty"`
	At *metav1.Time `json:"at,omitempty"`
	// Applications are those of the step whose syncs it holds.
	Applications []string `json:"applications,omitempty"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
}

// waits says what somebody reads who waits for it.
func (c *Condition) waits() string {
	if c.Until == nil {
		return "waits (" + c.Text + ")"
	}
	return "waits until " + moment(c.Until.Time) + " (" + strings.Replace(c.Text, " until "+moment(c.Until.Time), "", 1) +
		")"
}

// moment is a time as people read it.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// unmet is a condition that does not hold, from a denial because of it.
func unmet(d policy.Decision) Condition {
	c := Condition{Reason: string(d.Reason), Refused: d.Refused, Until: timeOf(d.NotBefore)}
	namespace, name, _ := strings.Cut(d.ApplicationSet, "/")
	c.Do = AdviceOn(d.Reason, Subject{
		Application: d.Application, Namespace: namespace, ApplicationSet: name, Step: policy.StepNumber(d.Step),
	}).Do
	text, detail := c.Reason, d.Detail
	if c.Until != nil {
		text += " until " + moment(c.Until.Time)
	}
	switch d.Reason {
	case policy.Soaking:
		detail = ""
		if c.Until == nil {
			detail = d.Blockers[0].Detail
		}
		if detail == "" {
			detail = applications(d.Blockers)
		}
	case policy.TooManyFailures:
		var all []string
		for _, b := range d.Blockers {
			all = append(all, b.Application+" ("+b.Detail+")")
		}
		detail = fmt.Sprintf("%d failed, and %s may: %s", len(d.Blockers), d.Detail, listed(all))
	case policy.NotApproved:
		_, what, _ := strings.Cut(d.Detail, "@")
		revision, more, _ := strings.Cut(cmp.Or(what, d.Detail), ",")
		if detail = policy.Short(revision); more != "" {
			detail += "," + more
		}
	case policy.MaxUpdateReached:
		if detail = "its maxUpdate is " + d.Detail; len(d.Blockers) > 0 {
			detail += ": " + d.Names()
		}
	case policy.Paused:
		c.By, c.At = pausedBy(d.Detail)
	default:
	}
	if detail != "" {
		text += ": " + detail
	}
	c.Text = text
	return c
}

// applications names one Application, and counts several.
func applications(blockers []policy.Blocker) string {
	if len(blockers) == 1 {
		return blockers[0].Application
	}
	return fmt.Sprintf("%d Applications", len(blockers))
}

// pausedBy takes the end of a text "REASON, by USER at TIME" apart. Without a time in it, nobody is recorded.
func pausedBy(why string) (by string, at *metav1.Time) {
	_, who, found := strings.Cut(", "+why, ", by ")
	if i := strings.LastIndex(who, " at "); found && i > 0 {
		if t, err := time.Parse(time.RFC3339, who[i+len(" at "):]); err == nil {
			return who[:i], &metav1.Time{Time: t}
		}
	}
	return "", nil
}

// met are the conditions of the target's step that hold, of a sync with a decision and with conditions that do not
// hold. A sync that is not to come, or is not judged by them, has neither.
func met(in policy.Input, d policy.Decision, waits bool, not []policy.Decision) []Condition {
	step, c := in.ApplicationSet.StepOf(in.Target.Labels), &in.Settings.Conditions
	has := func(reason policy.Reason) bool {
		return slices.ContainsFunc(not, func(d policy.Decision) bool { return d.Reason == reason })
	}
	var all []Condition
	earlier := d.Reason == policy.Paused || slices.ContainsFunc(d.Blockers, func(b policy.Blocker) bool {
		return b.Step < step
	})
	if wait := c.Soak.Before(step); waits && wait > 0 && !c.Soak.Unreadable && !earlier && !has(policy.Soaking) {
		all = append(all, Condition{Reason: string(policy.Soaking), Met: true, Text: "soaked for " + short(wait)})
	}
	if c.MaxFailures != nil && waits && !has(policy.TooManyFailures) {
		n := 0
		for _, a := range in.Siblings {
			if a.Step == step && policy.NotCounted(in, a.Application) == "" {
				n++
			}
		}
		all = append(all, Condition{
			Reason: string(policy.TooManyFailures), Met: true, Text: fmt.Sprintf("%d of %d may fail", c.MaxFailures.Of(n), n),
		})
	}
	for _, v := range c.Verify.Of {
		if v.Step != step || in.Evidence == nil || has(policy.Unverified) {
			continue
		}
		if found := in.Evidence(v, policy.ApprovalOf(in.Target.Wanted)); found.Answer == policy.Yes {
			all = append(all, Condition{
				Reason: string(policy.Unverified), Met: true,
				Text: "verified: " + policy.Printable(v.Object+", "+found.Detail, mostText),
			})
		}
	}
	if what := policy.ApprovalOf(in.Target.Wanted); c.Approve.Has(step) && what != "" && !has(policy.NotApproved) {
		for _, a := range c.Approved {
			if a.Step == step && a.What == what {
				by := policy.Printable(a.By, mostName)
				all = append(all, Condition{
					Reason: string(policy.NotApproved), Met: true, Text: "approved by " + by + " at " + moment(a.At), By: by,
					At: timeOf(a.At),
				})
				break
			}
		}
	}
	return all
}

// mostName bounds the name of a user, and mostText the reason for a pause.
const (
	mostName = 60
	mostText = 160
)

// short is a duration without units that are zero.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// order is the one of the rule.
var order = []string{
	string(policy.Paused), string(policy.Soaking), string(policy.TooManyFailures),
	string(policy.Unverified), string(policy.NotApproved), string(policy.WindowClosed), string(policy.MaxUpdateReached),
}

// together joins the conditions of several Applications. Those that read alike become one.
func together(all []Condition) []Condition {
	var joined []Condition
	for _, c := range all {
		i := slices.IndexFunc(joined, func(o Condition) bool { return o.Met == c.Met && o.Text == c.Text })
		if i < 0 {
			joined = append(joined, c)
			continue
		}
		joined[i].Applications = append(joined[i].Applications, c.Applications...)
	}
	slices.SortStableFunc(joined, func(a, b Condition) int {
		if a.Met != b.Met {
			if a.Met {
				return 1
			}
			return -1
		}
		return cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason))
	})
	return joined
}

// notMet are the conditions that hold something up.
func notMet(all []Condition) []Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c Condition) bool { return c.Met })
}

// areMet is one text for those that hold; empty if there are none.
func areMet(all []Condition) string {
	var texts []string
	for _, c := range all {
		if c.Met {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, ", ")
}
