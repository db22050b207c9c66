// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The scheduler ignores all topologySpreadConstraints of a Pod that are wishes on a node that lacks the label of one of
// them. Nodes of kind and of bare metal have no zone. So the chart has one constraint alone, for nodes, and wishes for
// zones by a podAntiAffinity.
func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		set []string
		// wantAffinity and wantSpread are the keys of the terms, and of the constraints.
		wantAffinity, wantSpread []string
	}{
		"by itself": {
			wantAffinity: []string{"topology.kubernetes.io/zone"}, wantSpread: []string{"kubernetes.io/hostname"},
		},
		"an affinity replaces that for zones": {
			set: []string{"--set=affinity.nodeAffinity.a=b"}, wantSpread: []string{"kubernetes.io/hostname"},
		},
		"constraints replace that for nodes": {
			set:          []string{"--set=topologySpreadConstraints[0].topologyKey=rack"},
			wantAffinity: []string{"topology.kubernetes.io/zone"}, wantSpread: []string{"rack"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text, err := helm.Run(t.Context(), append([]string{"template", "stepgate", helm.Chart}, tc.set...)...)
			g.Expect(err).NotTo(HaveOccurred())
			var pod map[string]any
			for _, o := range decode(g, text) {
				if o.GetKind() == "Deployment" {
					pod, _, err = unstructured.NestedMap(o.Object, "spec", "template", "spec")
					g.Expect(err).NotTo(HaveOccurred())
				}
			}
			keys := func(key []string, path ...string) (found []string) {
				list, _, err := unstructured.NestedSlice(pod, path...)
				g.Expect(err).NotTo(HaveOccurred())
				for _, item := range list {
					text, _, err := unstructured.NestedString(item.(map[string]any), key...)
					g.Expect(err).NotTo(HaveOccurred())
					found = append(found, text)
				}
				return found
			}
			g.Expect(keys([]string{"podAffinityTerm", "topologyKey"}, "affinity", "podAntiAffinity",
				"preferredDuringSchedulingIgnoredDuringExecution")).
				To(Equal(tc.wantAffinity))
			g.Expect(keys([]string{"topologyKey"}, "topologySpreadConstraints")).To(Equal(tc.wantSpread))
		})
	}
}

// In enforce mode no sync starts without stepgate, so its Pods are not the first to go.
func TestPriority(t *testing.T) {
	for name, tc := range map[string]struct {
		set     []string
		created bool
		want    string
	}{
		"in audit mode there is none":     {},
		"in enforce mode the chart's own": {set: []string{"--set=config.mode=enforce"}, created: true, want: "stepgate"},
		"another one": {
			set: []string{"--set=config.mode=enforce", "--set=priorityClassName=platform"}, want: "platform",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text, err := helm.Run(t.Context(), append([]string{"template", "stepgate", helm.Chart}, tc.set...)...)
			g.Expect(err).NotTo(HaveOccurred())
			created, class := false, ""
			for _, o := range decode(g, text) {
				switch o.GetKind() {
				case "PriorityClass":
					created = true
					g.Expect(o.GetName()).To(Equal(tc.want))
				case "Deployment":
					class, _, err = unstructured.NestedString(o.Object, "spec", "template", "spec", "priorityClassName")
					g.Expect(err).NotTo(HaveOccurred())
				}
			}
			g.Expect(created).To(Equal(tc.created))
			g.Expect(class).To(Equal(tc.want))
		})
	}
}
