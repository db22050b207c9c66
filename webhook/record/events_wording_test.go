// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

const denialText = "step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not " +
	"done: qa (NotHealthy). Next: wait until qa is Healthy, or repair it"

func TestEventWording(t *testing.T) {
	owner := argocd.Owner{NamespacedName: types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, UID: "set-uid"}
	for name, tc := range map[string]struct {
		edit      func(*judge.Write, *judge.Verdict)
		want      string
		wantNamed string
	}{
		"a denial": {want: "Warning SyncDenied DenySync Application/prod/uid-of-prod related qa: " + denialText},
		"a denial in audit mode": {
			edit: func(_ *judge.Write, v *judge.Verdict) { v.Settings.Mode = settings.Audit },
			want: "Normal SyncWouldBeDenied AuditSync Application/prod/uid-of-prod related qa: " + denialText,
		},
		"a bypass": {
			edit: func(_ *judge.Write, v *judge.Verdict) {
				v.Decision = policy.Decision{Outcome: policy.NotGated, Reason: policy.Bypassed}
				v.Settings.Bypass = "INC-1 by alice"
			},
			want: "Normal SyncGateBypassed BypassSync Application/prod/uid-of-prod: the gate was bypassed: INC-1 by alice",
		},
		"an error": {
			edit: func(_ *judge.Write, v *judge.Verdict) { v.Decision, v.Err = policy.Decision{}, errors.New("read") },
			want: "Warning SyncGateError EvaluateSync Application/prod/uid-of-prod: stepgate could not judge this sync: it could not read from the API server; see stepgate's log",
		},
		"a denial of a CREATE": {
			edit: func(w *judge.Write, _ *judge.Verdict) {
				w.Created, w.Owners, w.UID = true, []argocd.Owner{owner}, ""
			},
			want:      "Warning SyncDenied DenySync ApplicationSet/guestbook/set-uid related qa: " + denialText,
			wantNamed: "guestbook-",
		},
		"a denial because of a child that is an ApplicationSet": {
			edit: func(_ *judge.Write, v *judge.Verdict) { v.Blockers[0].Application = policy.SetMember("addons") },
			want: "Warning SyncDenied DenySync Application/prod/uid-of-prod related ApplicationSet addons: " +
				strings.NewReplacer("1 Application of", "1 child of", "qa", policy.SetMember("addons")).Replace(denialText),
		},
		"an allow": {edit: func(_ *judge.Write, v *judge.Verdict) { v.Decision = policy.Decision{Outcome: policy.Allow} }},
		"a not gated": {edit: func(_ *judge.Write, v *judge.Verdict) {
			v.Decision = policy.Decision{Outcome: policy.NotGated, Reason: policy.NotRollingSync}
		}},
		"the gate is off": {
			edit: func(_ *judge.Write, v *judge.Verdict) {
				v.Decision = policy.Decision{Outcome: policy.NotGated, Reason: policy.GateOff, ApplicationSet: "argocd/guestbook"}
			},
			want: "Normal SyncGateOff SkipGate Application/prod/uid-of-prod: the gate is off for ApplicationSet argocd/guestbook: its annotation stepgate.io/mode is off",
		},
		"an exclusion": {
			edit: func(_ *judge.Write, v *judge.Verdict) {
				v.Decision = policy.Decision{Outcome: policy.Allow, Reason: policy.EarlierStepsDone}
				v.Settings.Exclusion = "qa until 2026-09-21T13:00:00Z: INC-1"
			},
			want: "Normal SyncGateExclusion AllowSync Application/prod/uid-of-prod: stepgate did not wait for qa until 2026-09-21T13:00:00Z: INC-1",
		},
		"an exclusion that is of no use": {edit: func(_ *judge.Write, v *judge.Verdict) { v.Settings.Exclusion = "dev until then" }, want: "Warning SyncDenied DenySync Application/prod/uid-of-prod related qa: " + denialText},
		"a long name": {
			edit:      func(w *judge.Write, _ *judge.Verdict) { w.Target.Name = strings.Repeat("a", 198) + ".-b" },
			want:      "Warning SyncDenied DenySync Application/" + strings.Repeat("a", 198) + ".-b/uid-of-prod related qa: " + denialText,
			wantNamed: strings.Repeat("a", 198) + "-",
		},
		"a long note": {
			edit: func(_ *judge.Write, v *judge.Verdict) { v.Settings.Bypass = strings.Repeat("x", 5000) },
			want: "Warning SyncDenied DenySync Application/prod/uid-of-prod related qa: " + (denialText + " (bypass " + strings.Repeat("x", 5000))[:1024],
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			events, _ := newTestEvents(nil)
			w, v, none := denialOf("prod", "qa:NotHealthy")
			if tc.edit != nil {
				tc.edit(w, &v)
			}
			events.post(w, v, none)
			if tc.want == "" {
				g.Expect(drain(events)).To(BeZero())
				return
			}
			all := taken(events)
			g.Expect(all).To(HaveLen(1))
			event := all[0]
			g.Expect(eventText(event)).To(Equal(tc.want))
			if tc.wantNamed == "" {
				tc.wantNamed = "prod-"
			}
			g.Expect(event.GenerateName).To(Equal(tc.wantNamed))
			g.Expect(event.Namespace).To(Equal("argocd"))
			g.Expect(event.Regarding.APIVersion).To(Equal("argoproj.io/v1alpha1"))
			g.Expect(event.Regarding.Namespace).To(Equal("argocd"))
			g.Expect(event.EventTime.Time).To(Equal(noon))
			g.Expect(event.ReportingController).To(Equal("stepgate.io/stepgate"))
			g.Expect(event.ReportingInstance).To(Equal("replica-1"))
			if event.Related != nil {
				g.Expect(event.Related.Namespace).To(Equal("argocd"))
			}
		})
	}
}

func eventText(e *eventsv1.Event) string {
	text := strings.Join([]string{
		e.Type, e.Reason, e.Action, e.Regarding.Kind + "/" + e.Regarding.Name + "/" + string(e.Regarding.UID),
	}, " ")
	if e.Related != nil {
		text += " related " + strings.TrimPrefix(e.Related.Kind+" ", "Application ") + e.Related.Name
	}
	return text + ": " + e.Note
}

// Kinds has every kind that is declared.
func TestKinds(t *testing.T) {
	g := NewWithT(t)
	code, err := os.ReadFile("kinds.go")
	g.Expect(err).NotTo(HaveOccurred())
	var declared, listed []string
	for _, match := range regexp.MustCompile(`= Kind\{"(\w+)"`).FindAllStringSubmatch(string(code), -1) {
		declared = append(declared, match[1])
	}
	for _, kind := range Kinds() {
		listed = append(listed, kind.Reason)
		g.Expect(kind.When).NotTo(BeEmpty(), kind.Reason)
	}
	g.Expect(listed).To(ConsistOf(declared))
}
