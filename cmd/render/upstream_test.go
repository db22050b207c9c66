// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// With some parameters known, a text is rendered to exactly what argo-cd v3.5.7 renders it to with all of them, or it is
// not known. An error other than ErrUnknown is one there, too.
func TestUpstreamRendersTheSame(t *testing.T) {
	pieces := []string{
		"a", "-", " ", "{{.env}}", "{{ .env }}", "{{.missing}}", "{{.values.env}}", "{{.values.none}}", "{{.n}}", "{{.list}}",
		"{{index .list 0}}", "{{index .values \"env\"}}", "{{.env | upper}}", "{{.env | upper | lower}}",
		"{{trimPrefix \"d\" .env}}", "{{trimSuffix \"v\" .env}}", "{{trim .space}}", "{{default \"x\" .empty}}",
		"{{default \"x\" .env}}", "{{.n | default 3}}", "{{if eq .env \"dev\"}}yes{{else}}no{{end}}",
		"{{if and .env (not .empty)}}both{{end}}", "{{if .missing}}x{{else}}y{{end}}", "{{or .empty .env}}",
		"{{ne .env .empty}}", "{{range .list}}{{.}}{{end}}", "{{printf \"%s\" .env}}", "{{$x := .env}}{{$x}}", "{{ env }}",
		"{{env}}", "{{values.env}}", "{{missing}}", "{{}}", "{{ }}", "{{", "}}", "{{slugify .env}}", "{{/* x */}}", "\n",
		"{{- .env -}}", "{{len .env}}", "{{.}}", "{{.env.x}}", "{{\"{{\"}}", "{{metadata.labels.env}}", "{{.a-b}}",
	}
	known, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		text := ""
		for _, piece := range rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, "pieces") {
			text += piece
		}
		set := &argo.ApplicationSet{Spec: argo.ApplicationSetSpec{GoTemplate: rapid.Bool().Draw(t, "goTemplate")}}
		if option := rapid.SampledFrom([]string{"", "missingkey=error", "missingkey=zero", "missingkey=default"}).Draw(t,
			"option"); option != "" {
			set.Spec.GoTemplateOptions = []string{option}
		}
		values := map[string]any{
			"env": "dev", "n": 2.0, "empty": "", "space": " x ", "values": map[string]any{"env": "prod"}, "list": []any{"a", "b"},
		}
		if !set.Spec.GoTemplate {
			values = map[string]any{"env": "dev", "empty": "", "values.env": "prod"}
		}
		want, failure := (&utils.Render{}).Replace(text, values, set.Spec.GoTemplate, set.Spec.GoTemplateOptions)
		delete(values, rapid.SampledFrom([]string{"none", "env", "empty", "values", "values.env", "list"}).Draw(t, "open"))
		got, err := Text(set, text, Params{Values: values, Open: true})
		total++
		switch {
		case err == nil:
			known++
			g.Expect(failure).NotTo(HaveOccurred(), "%q", text)
			g.Expect(got).To(Equal(want), "%q", text)
		case !errors.Is(err, ErrUnknown):
			g.Expect(failure).To(HaveOccurred(), "%q", text)
		}
	})
	NewWithT(t).Expect(known*4).To(BeNumerically(">", total), "many texts have to be known, or this compares nothing")
}

// firstOf is the value of a, by which merges merge.
func firstOf(element apiextensionsv1.JSON) string { return string(element.Raw[:8]) }

// TestMain silences the log of Argo CD's generators.
func TestMain(m *testing.M) {
	Silence()
	os.Exit(m.Run())
}

// drawn draws a generator of lists, matrices and merges, and the same one with one list less that is known.
func drawn(t *rapid.T) (whole, part argo.ApplicationSetGenerator) {
	element := rapid.Custom(func(t *rapid.T) apiextensionsv1.JSON {
		e := map[string]string{"a": rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "a")}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"b", "c"}), 0, 2, rapid.ID).Draw(t, "keys") {
			e[key] = rapid.SampledFrom([]string{"1", "2", "{{.a}}", "{{a}}"}).Draw(t, key)
		}
		raw, _ := json.Marshal(e)
		return apiextensionsv1.JSON{Raw: raw}
	})
	list := func(label string) argo.ApplicationSetNestedGenerator {
		n := argo.ApplicationSetNestedGenerator{List: &argo.ListGenerator{
			Elements: rapid.SliceOfNDistinct(element, 0, 3, firstOf).Draw(t, label),
		}}
		if rapid.Bool().Draw(t, label+" selector") {
			n.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}
		}
		return n
	}
	all := []argo.ApplicationSetNestedGenerator{list("first"), list("second")}
	some := slices.Clone(all)
	some[rapid.IntRange(0, 1).Draw(t, "open")] = argo.ApplicationSetNestedGenerator{Clusters: &argo.ClusterGenerator{}}
	if rapid.Bool().Draw(t, "merge") {
		keys := []string{"a"}
		return argo.ApplicationSetGenerator{Merge: &argo.MergeGenerator{Generators: all, MergeKeys: keys}},
			argo.ApplicationSetGenerator{Merge: &argo.MergeGenerator{Generators: some, MergeKeys: keys}}
	}
	return argo.ApplicationSetGenerator{Matrix: &argo.MatrixGenerator{Generators: all}},
		argo.ApplicationSetGenerator{Matrix: &argo.MatrixGenerator{Generators: some}}
}

// Params that are partly known agree with one of the sets that Argo CD makes once everything is known.
func TestWhatIsKnownHolds(t *testing.T) {
	compared, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		for range 20 {
			tried++
			whole, part := drawn(t)
			o := offline{set: &argo.ApplicationSet{}, unknown: map[string]bool{}}
			o.set.Spec.GoTemplate = rapid.Bool().Draw(t, "goTemplate")
			truth, err := o.params(&whole)
			if err != nil {
				continue
			}
			known, err := o.params(&part)
			g.Expect(err).NotTo(HaveOccurred())
			for _, p := range truth {
				compared++
				g.Expect(slices.ContainsFunc(known, func(k Params) bool {
					shared := maps.Clone(p.Values)
					maps.DeleteFunc(shared, func(key string, _ any) bool { _, is := k.Values[key]; return !is })
					return k.Open && fmt.Sprint(shared) == fmt.Sprint(k.Values)
				})).To(BeTrue(), "%v is none of %v", p.Values, known)
			}
			if !slices.ContainsFunc(known, func(k Params) bool { return k.Many }) {
				g.Expect(known).To(HaveLen(len(truth)))
			}
		}
	})
	NewWithT(t).Expect(compared).To(BeNumerically(">", tried/4), "many drawn generators have to give something")
}
