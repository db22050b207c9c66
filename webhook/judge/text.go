// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

const (
	// maxCauses bounds the blockers that a denial and the audit annotation "blockers" list.
	maxCauses = 20
)

// Message is the decision's sentence, and why a bypass that was asked for did not help.
func (v Verdict) Message() string {
	if v.Settings.Bypass == "" {
		return v.Decision.Message()
	}
	return v.Decision.Message() + " (bypass " + v.Settings.Bypass + ")"
}

// HoldNote says why a sync is held, and who has to start it.
func (v Verdict) HoldNote() string {
	switch {
	case v.Released && !v.Stopped && v.Actor() != policy.You:
		return v.Says() + ". Nobody has to do anything: the sync starts by itself"
	case v.Released && !v.Stopped:
		return v.Message() + ". The sync then starts by itself"
	case v.ByArgoCD:
		return v.Message()
	}
	return v.Message() + ". The operation was left out of the write, and the rest is stored: ask for the sync again then"
}

// AuditAnnotations are the audit annotations; the API server puts the webhook's name before each key.
func (v Verdict) AuditAnnotations() map[string]string {
	a := map[string]string{"decision": v.Label(), "mode": v.Settings.Mode.String()}
	set := func(key, value string) {
		if value != "" {
			a[key] = policy.ClientText(value)
		}
	}
	set("bypass", v.Settings.Bypass)
	set("excluded", v.Settings.Exclusion)
	if v.Err != nil {
		set("error", v.Failure())
		return a
	}
	set("reason", string(v.Reason))
	set("applicationset", v.ApplicationSet)
	if v.Step >= 0 {
		set("step", strconv.Itoa(policy.StepNumber(v.Step)))
	}
	var blockers []string
	for _, b := range v.Listed() {
		blockers = append(blockers, b.Named()+"="+string(b.Reason))
	}
	if more := len(v.Blockers) - maxCauses; more > 0 {
		blockers = append(blockers, fmt.Sprintf("and %d more", more))
	}
	set("blockers", strings.Join(blockers, ","))
	return a
}

// Listed are the first blockers: as many as a denial and the audit annotation "blockers" list.
func (v Verdict) Listed() []policy.Blocker { return v.Blockers[:min(len(v.Blockers), maxCauses)] }

// Label is the outcome as metrics and audit annotations name it.
func (v Verdict) Label() string {
	switch {
	case v.Err != nil:
		return "error"
	case v.Held:
		return "hold"
	}
	return v.Outcome.String()
}
