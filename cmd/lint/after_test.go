// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
)

func setAfter(name, after string) string {
	return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %s, annotations: {stepgate.io/after: %q}}
spec:
  generators: [{list: {elements: [{env: dev}, {env: prod}]}}]
  template:
    metadata: {name: '%s-{{env}}'}
    spec: {project: default, destination: {}, source: {repoURL: x}}
`, name, after, name)
}

func appAfter(name, after string) string {
	return fmt.Sprintf("---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, annotations: "+
		"{stepgate.io/after: %q}}\n", name, after)
}

func templateAfter(after string) string {
	return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: data}
spec:
  generators: [{list: {elements: [{env: dev}]}}]
  template:
    metadata: {name: 'data-{{env}}', annotations: {stepgate.io/after: %q}}
    spec: {project: default, destination: {}, source: {repoURL: x}}
`, after)
}

// What comes after what, over all files.
func TestOrder(t *testing.T) {
	const (
		plain = "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: base}\n"
		after = `metadata.annotations["stepgate.io/after"]: `
	)
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"after each other": {
			setAfter("shop", "infra") + setAfter("infra", "shop-prod"), []string{
				"after-circle 4 " + after + "It comes after infra, which comes after shop-prod: a circle, in which each waits until the others are done.",
				"after-circle 13 " + after + "It comes after shop-prod, which comes after infra: a circle, in which each waits until the others are done.",
			},
		},
		"in a line": {setAfter("shop", "data, base") + templateAfter("base") + plain, nil},
		"a circle by way of a template": {
			setAfter("shop", "data") + templateAfter("shop"), []string{
				"after-circle 4 " + after + "It comes after data, which comes after shop: a circle, in which each waits until the others are done.",
				`after-circle 17 spec.template.` + after + "It comes after shop, which comes after data: a circle, in which each waits until the others are done.",
			},
		},
		"an Application alone, after a generated one": {appAfter("lone", "shop-dev") + setAfter("shop", "base") + plain, nil},
		"an Application alone beside one ApplicationSet": {
			appAfter("lone", "shop, bas") + setAfter("shop", "base") + plain, []string{
				"after-elsewhere 4 " + after + "It comes after bas, which is not among what was given.",
			},
		},
		"an Application after itself": {
			appAfter("lone", "lone"), []string{
				"after-circle 4 " + after + "It comes after itself (lone), and does not wait for that.",
			},
		},
		"an Application after no name": {
			appAfter("lone", "The Base"), []string{
				"after-invalid 4 " + after + `stepgate.io/after: "The Base" is no name: write names such as ` +
					`"infra", or "platform/base" for one in another namespace.`,
			},
		},
		"another namespace": {
			setAfter("shop", "platform/base"), []string{
				"after-elsewhere 4 " + after + "It comes after platform/base, which is not among what was given.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var in Input
			in.Text("order.yaml", []byte(tc.text))
			in.Link()
			r := in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true})
			g.Expect(findings(t, r)).To(ConsistOf(tc.want), "%v", findings(t, r))
		})
	}
}

// An Application alone is something to look at.
func TestAlone(t *testing.T) {
	g := NewWithT(t)
	r := checked(t, appAfter("lone", "base")+"---\n"+
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: base}\n")
	g.Expect(r.Summary.String()).To(Equal("nothing found in 0 ApplicationSets and 1 Application (1 other object skipped)"))
}

// One Application without the label counts in every track.
func TestTracks(t *testing.T) {
	g := NewWithT(t)
	text := edited(t, "stepgate.io/require: health", "stepgate.io/track: app")
	for _, app := range []string{"a, labels: {env: dev, app: a}", "b, labels: {env: prod}"} {
		text += "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + app + "}\n"
	}
	g.Expect(findings(t, checked(t, text))).To(ContainElement(
		`track-label-missing 7 metadata.annotations["stepgate.io/track"]: b has not the label app, and counts in every track.`))
}
