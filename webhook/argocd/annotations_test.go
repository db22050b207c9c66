// SPDX-License-Identifier: Apache-2.0

package argocd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestTheDoor lets in what stepgate reads, up to a length. What is longer is there, and has no text.
func TestTheDoor(t *testing.T) {
	const after = argocd.AfterAnnotation
	longest := strings.Repeat("x", argocd.MostText)
	for name, tc := range map[string]struct {
		of             string
		text           string
		want           string
		has            bool
		wantUnreadable string
	}{
		"a usual one":                    {after, "infra", "infra", true, ""},
		"an empty one":                   {after, "", "", true, ""},
		"the longest one":                {after, longest, longest, true, ""},
		"one byte more":                  {after, longest + "x", "", true, "unreadable, the strictest reading is used: it has 8193 bytes, more than 8192"},
		"of somebody else":               {"example.com/after", "infra", "", false, ""},
		"one that stepgate has not":      {"stepgate.io/befor", "infra", "", false, ""},
		"a long one that stepgate lacks": {"stepgate.io/befor", longest + "x", "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all := map[string]string{tc.of: tc.text}
			raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": all}})
			g.Expect(err).NotTo(HaveOccurred())
			decoded, err := argocd.Decode(raw)
			g.Expect(err).NotTo(HaveOccurred())
			for _, a := range []argocd.Annotations{
				argocd.ReadAnnotations(all), decoded.Metadata.Annotations,
			} {
				text, has := a.Get(tc.of)
				g.Expect([]any{text, has, a.Text(tc.of)}).To(Equal([]any{tc.want, tc.has, tc.want}))
				g.Expect(a.Unreadable(tc.of)).To(Equal(tc.wantUnreadable))
			}
		})
	}
}

// TestTheDoorOfSubscriptions lets in so many, and the same ones each time.
func TestTheDoorOfSubscriptions(t *testing.T) {
	g := NewWithT(t)
	all := map[string]string{"stepgate.io/after": "x", "example.com/a": "x"}
	for i := range 60 {
		all[fmt.Sprintf("notifications.argoproj.io/subscribe.t.s-%02d", i)] = "x"
	}
	all["notifications.argoproj.io/"+strings.Repeat("a", 500)] = "x"
	all["notifications.argoproj.io/subscribe.t.s-07"] = strings.Repeat("x", argocd.MostText+1)
	s := argocd.NewApplicationSet(&argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Annotations: all}}).Subscriptions
	g.Expect(s.Texts()).To(HaveLen(49))
	g.Expect(s.Text("notifications.argoproj.io/subscribe.t.s-49")).To(Equal("x"))
	g.Expect(s.AllUnreadable()).To(Equal([]string{
		"notifications.argoproj.io/subscribe.t.s-07", "notifications.argoproj.io/subscribe.t.s-50",
	}))
	g.Expect(s.Unreadable("notifications.argoproj.io/subscribe.t.s-50")).To(
		Equal("one of 60 subscriptions, of which 50 count"))
}

// TestWith keeps what is unreadable.
func TestWith(t *testing.T) {
	g := NewWithT(t)
	a := argocd.ReadAnnotations(map[string]string{
		"stepgate.io/pause": "2", "stepgate.io/approved": strings.Repeat("1,", 5000), "stepgate.io/verify": strings.Repeat("1,", 5000),
	})
	texts := a.Texts()
	texts["stepgate.io/approved"] = "1@x"
	with := a.With(texts)
	g.Expect(with.Texts()).To(Equal(map[string]string{"stepgate.io/pause": "2", "stepgate.io/approved": "1@x"}))
	g.Expect(with.AllUnreadable()).To(Equal([]string{"stepgate.io/verify"}))
	g.Expect(a.AllUnreadable()).To(Equal([]string{"stepgate.io/approved", "stepgate.io/verify"}), "it was not changed")
	maps.Copy(texts, map[string]string{"stepgate.io/pause": "3"})
	g.Expect(a.Text("stepgate.io/pause")).To(Equal("2"), "the map is the caller's")
}

// TestAfter reads no more names than count, and indexes none where there are more.
func TestAfter(t *testing.T) {
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprint("n", i))
	}
	for name, tc := range map[string]struct {
		text    string
		want    []string
		wantErr string
	}{
		"names":                         {"b, c/a,b", []string{"a/b", "c/a"}, ""},
		"twenty":                        {strings.Join(many[:20], ","), nil, ""},
		"one more":                      {strings.Join(many, ","), nil, "it names more than 20"},
		"twenty, and one of them again": {strings.Join(append(many[:20:20], "n0"), ","), nil, ""},
		"too long":                      {strings.Repeat("x", argocd.MostText+1), nil, "unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a := argocd.ReadAnnotations(map[string]string{argocd.AfterAnnotation: tc.text})
			names, has, err := argocd.After("a", a)
			g.Expect(has).To(BeTrue())
			keys := argocd.IndexAfter(&metav1.ObjectMeta{Namespace: "a"}, a)
			g.Expect(keys).To(HaveLen(len(names)))
			if tc.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
				g.Expect(names).To(BeEmpty())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == nil {
				g.Expect(names).To(HaveLen(20))
				return
			}
			g.Expect(keys).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	names, has, err := argocd.After("a", argocd.Annotations{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(has).To(BeFalse())
	g.Expect(names).To(Equal([]types.NamespacedName(nil)))
}

// FuzzAfter never reads more names than count.
func FuzzAfter(f *testing.F) {
	for _, text := range []string{"", "a", "a,b", "a/b,,", strings.Repeat("a,", 100), "a/b/c", "/", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, _, err := argocd.After("a", argocd.ReadAnnotations(map[string]string{argocd.AfterAnnotation: text}))
		if len(names) > 20 || err != nil && names != nil {
			t.Fatalf("%d names of %q: %v", len(names), text, err)
		}
	})
}
