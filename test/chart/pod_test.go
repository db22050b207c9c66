package chart

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The scheduler ignores all topologySpreadConstraints of a Pod that are wishes on a node that lacks the label of one of them. Nodes of
// bare metal and kind have no zone, and the replicas would share a node. A preferred podAntiAffinity counts each label by itself.
func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		set                []string
		wantKeys           []string
		wantAffinity, want bool
	}{
		"by itself, over zones and nodes, each as far as it goes": {wantKeys: []string{"topology.kubernetes.io/zone", "kubernetes.io/hostname"}},
		"an affinity replaces it":                                 {set: []string{"--set=affinity.nodeAffinity.a=b"}, wantAffinity: true},
		"constraints come beside it": {
			set:      []string{"--set=topologySpreadConstraints[0].topologyKey=rack"},
			wantKeys: []string{"topology.kubernetes.io/zone", "kubernetes.io/hostname"}, want: true,
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
			terms, _, err := unstructured.NestedSlice(pod, "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
			g.Expect(err).NotTo(HaveOccurred())
			var keys []string
			for _, term := range terms {
				key, _, err := unstructured.NestedString(term.(map[string]any), "podAffinityTerm", "topologyKey")
				g.Expect(err).NotTo(HaveOccurred())
				keys = append(keys, key)
			}
			g.Expect(keys).To(Equal(tc.wantKeys))
			g.Expect(pod["affinity"]).To(WithTransform(func(a any) bool { return a.(map[string]any)["nodeAffinity"] != nil }, Equal(tc.wantAffinity)))
			_, found := pod["topologySpreadConstraints"]
			g.Expect(found).To(Equal(tc.want))
		})
	}
}
