// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	strictjson "sigs.k8s.io/json"
)

// newer is an Application of a newer version of Argo CD, synced at revision b. Each text NEW_PART is where that part may
// have a field that the types here do not know.
const newer = `{"metadata": {"name": "prod", "ownerReferences": [{"uid": "set", "name": "guestbook", "controller": true}]},
	"spec": {SOURCES "destination": {"namespace": "here" NEW_DESTINATION}, "project": "default",
		"ignoreDifferences": [{"kind": "Service" NEW_IGNORED}],
		"syncPolicy": {"automated": {"prune": true NEW_AUTOMATED}, "retry": {"limit": 3} NEW_POLICY} NEW_SPEC},
	"operation": {"sync": {"revision": "b", "revisions": ["b"]}},
	"status": {"reconciledAt": "2026-11-28T12:00:00Z", "sync": {"status": "Synced", "revision": "b", "revisions": ["b"],
		"comparedTo": {COMPARED "destination": {"namespace": "here" NEW_DESTINATION},
			"ignoreDifferences": [{"kind": "Service" NEW_IGNORED}]}},
		"history": [{"revision": "b", "revisions": ["b"], COMPARED "deployedAt": "2026-11-28T11:00:00Z"}],
		"operationState": {"phase": "Succeeded", "startedAt": "2026-11-28T11:00:00Z",
			"finishedAt": "2026-11-28T11:00:01Z", "operation": {"sync": {}},
			"syncResult": {"revision": "b", "revisions": ["b"], COMPARED "resources": null}}}}`

const (
	one = `"source": {"repoURL": "https://x", "path": "p", "helm": {"parameters": [{"name": "a", "value": "b" NEW_PARAMETER}]
		NEW_HELM} NEW_SOURCE},`
	many     = `"sources": [{"repoURL": "https://x", "path": "p" NEW_SOURCE}],`
	hydrator = `"sourceHydrator": {"drySource": {"repoURL": "https://x", "targetRevision": "HEAD", "path": "p" NEW_DRY},
		"syncSource": {"targetBranch": "env", "path": "p" NEW_SYNC} NEW_HYDRATOR},`
)

// newerWith is the text of a newer Application that has a field at a place, in its spec and in all that was deployed.
func newerWith(sources, place, field string) []byte {
	compared := sources
	if sources == hydrator {
		compared = ""
	}
	text := strings.NewReplacer("SOURCES", sources, "COMPARED", compared).Replace(newer)
	text = strings.ReplaceAll(text, "NEW_"+place, field)
	const places = "DESTINATION IGNORED AUTOMATED POLICY SPEC PARAMETER HELM SOURCE DRY SYNC HYDRATOR"
	for _, part := range strings.Fields(places) {
		text = strings.ReplaceAll(text, "NEW_"+part, "")
	}
	return []byte(text)
}

// read decodes an Application as a live read does.
func read(g *WithT, raw []byte) *argo.Application {
	app := &argo.Application{}
	_, err := strictjson.UnmarshalStrict(raw, app)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(KeepUnknown(raw, app)).To(Succeed())
	return app
}

// TestUnknownFieldsCount changes a field that only a newer version of Argo CD knows.
func TestUnknownFieldsCount(t *testing.T) {
	const a, b, empty = `, "new": {"x": ["a"]}`, `, "new": {"x": ["b"]}`, `, "new": {"x": [], "y": false}`
	for name, tc := range map[string]struct{ sources, place string }{
		"of a source":                 {one, "SOURCE"},
		"of its Helm options":         {one, "HELM"},
		"of a Helm parameter":         {one, "PARAMETER"},
		"of one of many sources":      {many, "SOURCE"},
		"of a dry source":             {hydrator, "DRY"},
		"of a sync source":            {hydrator, "SYNC"},
		"of a source hydrator":        {hydrator, "HYDRATOR"},
		"of the destination":          {one, "DESTINATION"},
		"of what is ignored":          {one, "IGNORED"},
		"of automated sync":           {one, "AUTOMATED"},
		"of the sync policy":          {one, "POLICY"},
		"of the spec":                 {many, "SPEC"},
		"of the spec with a hydrator": {hydrator, "SPEC"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			content := map[string]Content{}
			for _, field := range []string{"", a, b, empty} {
				raw := newerWith(tc.sources, tc.place, field)
				sent, err := Decode(raw)
				g.Expect(err).NotTo(HaveOccurred())
				p := NewProjection(read(g, raw))
				content[field] = sent.Content()
				g.Expect(p.Content.Unrevised()).To(Equal(sent.Content()), "whoever decodes it")
				if tc.sources != hydrator {
					g.Expect(p.Application.SpecCompared).To(BeTrue(), "it was compared with the same")
					g.Expect(p.Application.LastSync.SameSources).To(BeTrue())
					g.Expect(Tracking{}.Target(sent, sent).SpecCompared).To(BeTrue())
				}
			}
			g.Expect(content[empty]).To(Equal(content[""]), "Argo CD leaves it out when it writes it again")
			g.Expect(content[a]).NotTo(Equal(content[""]))
			g.Expect(content[a]).NotTo(Equal(content[b]))
		})
	}
}

// TestAnUnknownFieldIsNoSelfHeal changes such a field after the sync: what was compared and deployed does not have it.
func TestAnUnknownFieldIsNoSelfHeal(t *testing.T) {
	for name, tc := range map[string]struct{ sources, was, is string }{
		"of a source":        {one, `"path": "p", "helm"`, `"path": "p", "new": 1, "helm"`},
		"of many sources":    {many, `"path": "p"`, `"path": "p", "new": 1`},
		"of the destination": {one, `{"namespace": "here"`, `{"new": 1, "namespace": "here"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			raw := string(newerWith(tc.sources, "SPEC", ""))
			changed := []byte(strings.Replace(raw, tc.was, tc.is, 1)) // of the spec, which is first
			sent, err := Decode(changed)
			g.Expect(err).NotTo(HaveOccurred())
			p := NewProjection(read(g, changed))
			g.Expect(p.Application.SpecCompared).To(BeFalse())
			g.Expect(Tracking{}.Target(sent, sent).SpecCompared).To(BeFalse())
			before, err := Decode([]byte(raw))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(StampOf(sent, before).Content).NotTo(Equal(StampOf(before, before).Content), "the Gate makes it again")
			forged, _ := Stamped(before, before)
			sent.Operation = forged.Operation
			g.Expect(Forged(sent, before)).To(BeTrue(), "with a stamp of before")
		})
	}
}

// TestAnOperationThatLeavesItOut brings sources that somebody has written who does not know the field.
func TestAnOperationThatLeavesItOut(t *testing.T) {
	for name, tc := range map[string]struct {
		brings string
		want   bool
	}{
		"it has it":       {`{"repoURL": "https://x", "path": "p", "new": 1}`, false},
		"it has another":  {`{"repoURL": "https://x", "path": "p", "new": 2}`, true},
		"it does not":     {`{"repoURL": "https://x", "path": "p"}`, true},
		"it has its mark": {`{"repoURL": "https://x", "path": "p", "name": "\ufffd` + digest(map[string]any{"new": 1}) + `"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			raw := string(newerWith(many, "SOURCE", `, "new": 1`))
			raw = strings.Replace(raw, `{"sync": {"revision"`, `{"sync": {"sources": [`+tc.brings+`], "revision"`, 1)
			app, err := Decode([]byte(raw))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(Tracking{}.Target(app, nil).Operation.Foreign).To(Equal(tc.want))
			g.Expect(StampOf(app, nil).Content == app.Content().at([]string{"b"})).To(Equal(!tc.want))
		})
	}
}

// TestWhatIsKnownIsAsItWas: an Application without such fields has the same Content, whoever has decoded it.
func TestWhatIsKnownIsAsItWas(t *testing.T) {
	g := NewWithT(t)
	raw := newerWith(one, "SPEC", "")
	app, plain := read(g, raw), &argo.Application{}
	g.Expect(strictjson.UnmarshalCaseSensitivePreserveInts(raw, plain)).To(Succeed())
	g.Expect(app).To(Equal(plain))
}

// TestADuplicateAmongUnknownFields is refused all the same: decoders differ in which of the two they keep.
func TestADuplicateAmongUnknownFields(t *testing.T) {
	var fields strings.Builder
	for i := range 200 {
		fields.WriteString(`, "new` + strings.Repeat("x", i) + `": 1`)
	}
	_, err := Decode(newerWith(one, "SOURCE", fields.String()+`, "path": "other"`))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("duplicate field")))
}
