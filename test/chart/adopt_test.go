// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// TestWhatAnAppProjectHasToPermit compares the list of docs/adopt.md with everything that the chart renders of the whole
// cluster, whatever the values.
func TestWhatAnAppProjectHasToPermit(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(shared.Root, "docs", "adopt.md"))
	g.Expect(err).NotTo(HaveOccurred())
	block := regexp.MustCompile("(?s)```yaml\n(clusterResourceWhitelist:.*?)```").FindSubmatch(page)
	g.Expect(block).NotTo(BeNil())
	var listed struct {
		Kinds []schema.GroupKind `json:"clusterResourceWhitelist"`
	}
	g.Expect(yaml.Unmarshal(block[1], &listed)).To(Succeed())
	rendered := map[schema.GroupKind]bool{}
	for _, r := range renderings(t) {
		for _, o := range r.objects {
			if o.GetNamespace() == "" {
				rendered[o.GroupVersionKind().GroupKind()] = true
			}
		}
	}
	for _, kind := range listed.Kinds {
		g.Expect(rendered).To(HaveKey(kind), "the page lists what no values render")
		delete(rendered, kind)
	}
	g.Expect(rendered).To(BeEmpty(), "docs/adopt.md does not list them")
}
