// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// setRow is one write of argocd/guestbook by alice of the group sre, through both webhooks, and everything that comes
// of it.
type setRow struct {
	before, after map[string]string // nil before is a CREATE
	approvers     ApproverConfig
	request       func(*admissionv1.AdmissionRequest)
	// unstamped leaves the mutating webhook out.
	unstamped bool

	wantPatches  string
	wantWarnings []string
	wantCode     int32 // 0: allowed
	wantMessage  string
	wantCounts   string // of approvals: approved refused
	wantLog      string
}

const noonStamp = `[{\"step\":3,\"of\":\"1.2.3\",\"by\":\"alice\",\"at\":\"2026-03-01T12:00:00Z\"}]`

// reporterAccount writes for users of Argo CD.
const reporterAccount = "system:serviceaccount:stepgate:stepgate-reporter"

// by has an account write, with a field manager.
func by(account, manager string) func(*admissionv1.AdmissionRequest) {
	return func(req *admissionv1.AdmissionRequest) {
		req.UserInfo.Username = account
		req.Options.Raw = scenario.Encode(metav1.UpdateOptions{FieldManager: manager})
	}
}

func newStamper() *Stamper {
	return NewStamper(settings.Config{}, scenario.Watched{Cluster: &scenario.Cluster{}}, reporterAccount, scenario.AtNoon)
}

func setRequest(before, after map[string]string) admissionv1.AdmissionRequest {
	req := (&scenario.Attempt{After: scenario.App("guestbook", "1", "Healthy", ""), User: "alice"}).Request()
	req.Kind.Kind, req.Resource.Resource, req.UserInfo.Groups = "ApplicationSet", "applicationsets",
		[]string{"system:authenticated", "sre"}
	set := func(annotations map[string]string) []byte {
		set := scenario.RollingSync("guestbook", "1", "2", "3")
		set.Annotations = annotations
		return scenario.Encode(set)
	}
	req.Object.Raw, req.OldObject.Raw = set(after), nil
	if before != nil {
		req.Operation, req.OldObject.Raw = admissionv1.Update, set(before)
	}
	return req
}

func (r setRow) run(t *testing.T) {
	g := NewWithT(t)
	var logged strings.Builder
	log := funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{})
	ctx := logr.NewContext(t.Context(), log)
	counted := &trial{registry: prometheus.NewRegistry()}
	metrics := record.NewMetrics(counted.registry)
	req := setRequest(r.before, r.after)
	if r.request != nil {
		r.request(&req)
	}
	soon := clocktesting.NewFakePassiveClock(scenario.Noon.Add(time.Second))
	stamper, check := newStamper(), NewApprovalCheck(r.approvers, reporterAccount, metrics, soon)

	if !r.unstamped {
		resp := stamper.Handle(ctx, webhook.AdmissionRequest{AdmissionRequest: req})
		g.Expect(resp.Allowed).To(BeTrue())
		g.Expect(resp.Warnings).To(Equal(r.wantWarnings))
		var patches []byte
		if len(resp.Patches) > 0 {
			patches = scenario.Encode(resp.Patches)
			req.Object.Raw = patchedBy(g, req.Object.Raw, patches)
		}
		g.Expect(string(patches)).To(Equal(r.wantPatches))
	}
	resp := check.Handle(ctx, webhook.AdmissionRequest{AdmissionRequest: req})

	g.Expect(resp.Allowed).To(Equal(r.wantCode == 0))
	g.Expect(resp.Patches).To(BeEmpty())
	status := metav1.Status{}
	if resp.Result != nil {
		status = *resp.Result
		g.Expect(status.Details.Kind).To(Equal("applicationsets"))
		g.Expect(status.Reason).To(Equal(metav1.StatusReasonForbidden))
	}
	g.Expect(status.Code).To(Equal(r.wantCode))
	g.Expect(status.Message).To(Equal(r.wantMessage))
	counts := fmt.Sprint(counted.counted("stepgate_approvals_total", "approved"),
		counted.counted("stepgate_approvals_total", "refused"))
	if r.wantCounts == "" {
		r.wantCounts = "0 0"
	}
	g.Expect(counts).To(Equal(r.wantCounts))
	g.Expect(logged.String()).To(Equal(r.wantLog))
}

func TestSetWrites(t *testing.T) {
	const written = "annotation stepgate.io/approved-by is written by stepgate: leave it out"
	stored := strings.ReplaceAll(noonStamp, `\"`, `"`)
	bobs := strings.ReplaceAll(stored, "alice", "bob")
	approved := map[string]string{settings.ApprovedAnnotation: "3@1.2.3"}
	refusedLog := func(approvals, message string) string {
		text, _ := json.Marshal(message)
		return `"level"=0 "msg"="approval refused" "applicationset"="argocd/guestbook" "user"="alice" "approvals"="` +
			approvals + `" "message"=` + string(text)
	}
	const approvedLog = `"level"=0 "msg"="approved" "applicationset"="argocd/guestbook" "user"="alice" "approvals"="3@1.2.3"`
	mayNot := "alice may not approve step 3 of ApplicationSet argocd/guestbook: stepgate's --approver and " +
		"--approver-group do not name this user or a group of this user. Next: ask somebody whom they name"
	unstamped := "3@1.2.3 of annotation stepgate.io/approved has no stamp in stepgate.io/approved-by: the API server " +
		"has not called stepgate's mutating webhook, which writes it. " +
		"Next: write stepgate.io/approved again, and if this lasts, run stepgate doctor"
	for name, row := range map[string]setRow{
		"another annotation": {before: map[string]string{}, after: map[string]string{"a": "b"}},
		"an approval": {
			before: map[string]string{}, after: approved,
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + noonStamp + `"}]`, wantCounts: "1 0", wantLog: approvedLog,
		},
		"an approval in a new ApplicationSet": {
			after:       approved,
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + noonStamp + `"}]`, wantCounts: "1 0", wantLog: approvedLog,
		},
		"an approval that is dry-run": {
			before: map[string]string{}, after: approved, request: func(req *admissionv1.AdmissionRequest) { req.DryRun = ptr.To(true) },
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + noonStamp + `"}]`,
		},
		"an approval that the mutating webhook has not seen": {
			before: map[string]string{}, after: approved, unstamped: true, wantCode: 403, wantMessage: unstamped, wantCounts: "0 1", wantLog: refusedLog("3@1.2.3", unstamped),
		},
		"an approval by a member of a group": {
			before: map[string]string{}, after: approved, approvers: ApproverConfig{Users: []string{"bob"}, Groups: []string{"sre"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + noonStamp + `"}]`, wantCounts: "1 0", wantLog: approvedLog,
		},
		"an approval by somebody who may not": {
			before: map[string]string{}, after: approved, approvers: ApproverConfig{Users: []string{"bob"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + noonStamp + `"}]`,
			wantCode:    403, wantMessage: mayNot, wantCounts: "0 1", wantLog: refusedLog("3@1.2.3", mayNot),
		},
		"an approval in somebody else's name": {
			before: map[string]string{}, after: map[string]string{settings.ApprovedAnnotation: "3@1.2.3", settings.ApprovedByAnnotation: bobs},
			wantCode: 403, wantMessage: written, wantCounts: "0 1", wantLog: refusedLog("3@1.2.3", written),
		},
		"another name for an approval": {
			before: map[string]string{settings.ApprovedAnnotation: "3@1.2.3", settings.ApprovedByAnnotation: stored}, after: map[string]string{settings.ApprovedAnnotation: "3@1.2.3", settings.ApprovedByAnnotation: bobs},
			wantCode: 403, wantMessage: written, wantCounts: "0 1", wantLog: refusedLog("", written),
		},
		"an edit beside an approval, without its stamp": {
			before: map[string]string{settings.ApprovedAnnotation: "3@1.2.3", settings.ApprovedByAnnotation: bobs}, after: approved, approvers: ApproverConfig{Users: []string{"bob"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + strings.ReplaceAll(noonStamp, "alice", "bob") + `"}]`,
		},
		"an approval taken back": {
			before: map[string]string{settings.ApprovedAnnotation: "3@1.2.3", settings.ApprovedByAnnotation: bobs}, after: map[string]string{settings.ApprovedByAnnotation: bobs},
			wantPatches: `[{"op":"remove","path":"/metadata/annotations/stepgate.io~1approved-by"}]`,
		},
		"an approval by a user of Argo CD, by name": {
			before: map[string]string{}, after: approved, request: by(reporterAccount, "argocd:carol@example.com"),
			approvers:   ApproverConfig{Users: []string{"argocd:carol@example.com"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + strings.ReplaceAll(noonStamp, "alice", "argocd:carol@example.com") + `"}]`,
			wantCounts:  "1 0", wantLog: strings.ReplaceAll(approvedLog, "alice", "argocd:carol@example.com"),
		},
		"an approval by a user of Argo CD, by group": {
			before: map[string]string{}, after: approved, request: by(reporterAccount, "argocd:carol"),
			approvers:   ApproverConfig{Groups: []string{"argocd:stepgate-act"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + strings.ReplaceAll(noonStamp, "alice", "argocd:carol") + `"}]`,
			wantCounts:  "1 0", wantLog: strings.ReplaceAll(approvedLog, "alice", "argocd:carol"),
		},
		"an approval by a user of Argo CD who may not, through an account that may": {
			before: map[string]string{}, after: approved, request: by(reporterAccount, "argocd:alice"),
			approvers:   ApproverConfig{Users: []string{"alice", reporterAccount}, Groups: []string{"sre", "system:authenticated"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + strings.ReplaceAll(noonStamp, "alice", "argocd:alice") + `"}]`,
			wantCode:    403, wantMessage: "argocd:" + mayNot, wantCounts: "0 1",
			wantLog: strings.ReplaceAll(refusedLog("3@1.2.3", "argocd:"+mayNot), `"user"="alice"`, `"user"="argocd:alice"`),
		},
		"a user of Argo CD whom another account names": {
			before: map[string]string{}, after: approved, request: by("alice", "argocd:carol"),
			approvers:   ApproverConfig{Users: []string{"argocd:carol"}, Groups: []string{"argocd:stepgate-act"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1approved-by","value":"` + noonStamp + `"}]`,
			wantCode:    403, wantMessage: mayNot, wantCounts: "0 1", wantLog: refusedLog("3@1.2.3", mayNot),
		},
		"a stamp of a user of Argo CD that another account has made up": {
			before: map[string]string{}, request: by("alice", "argocd:carol"),
			after:    map[string]string{settings.ApprovedAnnotation: "3@1.2.3", settings.ApprovedByAnnotation: strings.ReplaceAll(stored, "alice", "argocd:carol")},
			wantCode: 403, wantMessage: written, wantCounts: "0 1", wantLog: refusedLog("3@1.2.3", written),
		},
		"a pause by a user of Argo CD": {
			before: map[string]string{}, after: map[string]string{settings.PauseAnnotation: "all"}, request: by(reporterAccount, "argocd:carol"),
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1paused-by","value":"argocd:carol at 2026-03-01T12:00:00Z"}]`,
		},
		"a pause": {
			before: map[string]string{}, after: map[string]string{settings.PauseAnnotation: "all"}, approvers: ApproverConfig{Users: []string{"bob"}},
			wantPatches: `[{"op":"add","path":"/metadata/annotations/stepgate.io~1paused-by","value":"alice at 2026-03-01T12:00:00Z"}]`,
		},
		"the end of a pause": {
			before: map[string]string{settings.PauseAnnotation: "all", settings.PausedByAnnotation: "bob at T"}, after: map[string]string{settings.PausedByAnnotation: "bob at T"},
			wantPatches: `[{"op":"remove","path":"/metadata/annotations/stepgate.io~1paused-by"}]`,
		},
		"an annotation that cannot be read": {
			before: map[string]string{}, after: map[string]string{settings.ModeAnnotation: "Audit"},
			wantWarnings: []string{`stepgate: annotation stepgate.io/mode is not valid, the stricter reading is used: "Audit" is not one of enforce, audit, off`},
		},
		"a very long one": {
			before: map[string]string{}, after: map[string]string{settings.ModeAnnotation: strings.Repeat("x", 300)},
			wantWarnings: []string{`stepgate: annotation stepgate.io/mode is not valid, the stricter reading is used: "` + strings.Repeat("x", 170) + "..."},
		},
		"a DELETE": {
			before: map[string]string{}, after: approved, request: func(req *admissionv1.AdmissionRequest) { req.Operation = admissionv1.Delete },
		},
		"a write of the status": {
			before: map[string]string{}, after: approved, request: func(req *admissionv1.AdmissionRequest) { req.SubResource = "status" },
		},
		"an ApplicationSet that is being deleted": {
			before: map[string]string{}, after: approved, request: func(req *admissionv1.AdmissionRequest) {
				var set argo.ApplicationSet
				_ = json.Unmarshal(req.Object.Raw, &set)
				set.DeletionTimestamp = &metav1.Time{Time: scenario.Noon}
				req.Object.Raw = scenario.Encode(set)
			},
		},
	} {
		t.Run(name, row.run)
	}
}

// The two packages speak of the same annotations.
func TestApprovalAnnotations(t *testing.T) {
	g := NewWithT(t)
	g.Expect([]string{approval.Approved, approval.ApprovedBy, approval.Pause, approval.PausedBy}).
		To(Equal([]string{
			settings.ApprovedAnnotation, settings.ApprovedByAnnotation, settings.PauseAnnotation,
			settings.PausedByAnnotation,
		}))
}

func TestSetWritesThatCannotBeJudged(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*admissionv1.AdmissionRequest)
		want string
	}{
		"another kind":               {func(req *admissionv1.AdmissionRequest) { req.Kind.Kind = "AppProject" }, "stepgate judges ApplicationSets and Applications of argoproj.io here, not AppProject of"},
		"no object":                  {func(req *admissionv1.AdmissionRequest) { req.Object.Raw = nil }, "the request to CREATE an ApplicationSet has no object"},
		"no JSON":                    {func(req *admissionv1.AdmissionRequest) { req.Object.Raw = []byte("{") }, "object is not an ApplicationSet"},
		"an old object that is none": {func(req *admissionv1.AdmissionRequest) { req.OldObject.Raw = []byte("[]") }, "oldObject is not an ApplicationSet"},
		"an annotation that is twice": {func(req *admissionv1.AdmissionRequest) {
			req.Object.Raw = []byte(`{"metadata":{"annotations":{"a":"1","a":"2"}}}`)
		}, "object is not an ApplicationSet"},
		"nobody whom the reporter names":     {by(reporterAccount, ""), `the field manager "" names no user of Argo CD`},
		"the prefix, and no name":            {by(reporterAccount, "argocd:"), `the field manager "argocd:" names no user of Argo CD`},
		"a user of Kubernetes whom it names": {by(reporterAccount, "system:admin"), `the field manager "system:admin" names no user of Argo CD`},
		"a name that ends another way":       {by(reporterAccount, "argocd:carol at noon"), `the field manager "argocd:carol at noon" names no user of Argo CD`},
		"a name with a letter like another":  {by(reporterAccount, "argocd:c\u0430rol"), `the field manager "argocd:c`},
		"a name that is too long":            {by(reporterAccount, "argocd:"+strings.Repeat("x", 122)), `the field manager "argocd:xxx`},
		"options that cannot be read": {func(req *admissionv1.AdmissionRequest) {
			req.UserInfo.Username, req.Options.Raw = reporterAccount, nil
		}, "the options of the request cannot be read"},
		"a strategy without bounds": {func(req *admissionv1.AdmissionRequest) {
			req.Object.Raw = []byte(`{"spec":{"strategy":{"rollingSync":{"steps":[` + strings.Repeat("{},", 20_001) + `{}]}}}}`)
		}, "object is not an ApplicationSet"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			req := setRequest(nil, map[string]string{})
			tc.edit(&req)
			for _, h := range []webhook.AdmissionHandler{newStamper(),
				NewApprovalCheck(ApproverConfig{}, reporterAccount, nil, scenario.AtNoon)} {
				resp := h.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
				g.Expect(resp.Allowed).To(BeFalse())
				g.Expect(resp.Result.Code).To(BeEquivalentTo(400))
				g.Expect(resp.Result.Message).To(HavePrefix(tc.want))
			}
		})
	}
}
