// SPDX-License-Identifier: Apache-2.0

package record

import corev1 "k8s.io/api/core/v1"

// Kind is a kind of Event.
type Kind struct {
	// Reason, Type and Action are fields of the Event.
	Reason, Type, Action string
	// When says what has happened, for docs/reference/events.md.
	When string
}

var (
	gateError = Kind{"SyncGateError", corev1.EventTypeWarning, "EvaluateSync",
		"stepgate could not judge a sync, because it could not read from the API server"}
	held = Kind{"SyncHeld", corev1.EventTypeNormal, "HoldSync",
		"an early sync was left out of a write, and the rest was stored: its writer is a controller or program that asks " +
			"again, or the write also brings what Argo CD has to compare first"}
	released = Kind{"SyncReleased", corev1.EventTypeNormal, "ReleaseSync",
		"a sync that had waited may start"}
	started = Kind{"SyncStarted", corev1.EventTypeNormal, "StartSync",
		"stepgate starts a sync that may start, and that Argo CD has not started (`--start`)"}
	terminated = Kind{"SyncTerminated", corev1.EventTypeNormal, "TerminateSync",
		"stepgate has terminated a sync that waits for its next retry, because something newer may start (`--start`)"}
	denied = Kind{"SyncDenied", corev1.EventTypeWarning, "DenySync",
		"a sync was refused; the text says who blocks it, why, and what to do next"}
	wouldBeDenied = Kind{"SyncWouldBeDenied", corev1.EventTypeNormal, "AuditSync",
		"in audit mode: enforce mode would have held or refused this sync, which went through"}
	bypassed = Kind{"SyncGateBypassed", corev1.EventTypeNormal, "BypassSync",
		"a bypass let a sync through"}
	gateOff = Kind{"SyncGateOff", corev1.EventTypeNormal, "SkipGate",
		"a sync went through because the annotation stepgate.io/mode of its ApplicationSet is off"}
	exclusion = Kind{"SyncGateExclusion", corev1.EventTypeNormal, "AllowSync",
		"a sync went through that would have waited for an Application which somebody has excluded for a time"}
	untold = Kind{"NotificationFailed", corev1.EventTypeWarning, "Notify",
		"on the ApplicationSet: stepgate could not send a notification about its rollout (`--notifications`)"}
)

// Kinds are all kinds of Events.
func Kinds() []Kind {
	return []Kind{
		held, released, denied, started, terminated, wouldBeDenied, bypassed, gateOff, exclusion, gateError, untold,
	}
}
