// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
)

// screens are all kinds that a text is laid out for.
var screens = map[string]screen.Screen{
	"80": {Width: 80}, "80-colour": {Width: 80, Colour: true}, "140": {Width: 140}, "140-colour": {Width: 140, Colour: true},
}

// scenes are the rollouts of the goldens.
var scenes = map[string]string{
	"complete": "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/Synced@new:Healthy@new 2:qa-us=Healthy/Synced@new:Healthy@new 3:prod-1..4=Healthy/Synced@new:Healthy@new",
	"degraded": "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Degraded/Synced@new:Progressing@new 2:qa-us=Healthy/Synced@new:Healthy@new 3:prod-1..4=Healthy/OutOfSync@new:Waiting@new",
	"believed": "1:dev=Healthy/OutOfSync@new:Healthy@old 2:qa-eu=Healthy/OutOfSync@new:Pending@new 2:qa-us=Healthy/Synced@old:Healthy@old 3:prod-1..4=Healthy/Synced@old:Healthy@old",
	"syncing":  "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Progressing/Synced@new:Progressing@new 2:qa-us=Healthy/OutOfSync@new:Progressing@new+op 3:prod-1..4=Healthy/OutOfSync@new:Waiting@new",
	"failed":   "1:dev=Healthy/Synced@new:Healthy@new+failed 2:qa-eu=Healthy/OutOfSync@new:Waiting@new 0:sandbox=Healthy/Synced@new",
	"large": "1:dev-1..20=Healthy/Synced@new:Healthy@new 2:qa-1..57=Healthy/Synced@new:Healthy@new 2:qa-58=Degraded/Synced@new:Progressing@new " +
		"2:qa-59..80=Progressing/Synced@new:Progressing@new 3:prod-1..100=Healthy/OutOfSync@new:Waiting@new",
}

func TestGet(t *testing.T) {
	for name, text := range scenes {
		r := judged(scene(text))
		for kind, s := range screens {
			t.Run(name+" "+kind, func(t *testing.T) {
				lines := r.Tree(s, now, false)
				expectFits(t, s, lines)
				golden.Expect(t, "get-"+name+"-"+kind+".golden", strings.Join(lines, "\n")+"\n")
			})
		}
	}
}

func TestGetAll(t *testing.T) {
	lines := judged(scene(scenes["believed"])).Tree(screen.Screen{Width: 80}, now, true)
	golden.Expect(t, "get-all-80.golden", strings.Join(lines, "\n")+"\n")
}

func TestGetAsJSON(t *testing.T) {
	golden.Expect(t, "get-believed.json", printed(t, "json", judged(scene(scenes["believed"]))))
	golden.Expect(t, "get-complete.yaml", printed(t, "yaml", judged(scene(scenes["complete"]))))
}

// An annotation that lets everything through, and one that cannot be read, are shown first.
func TestGetShowsExemptions(t *testing.T) {
	set, apps := scene(scenes["degraded"])
	set.Annotations = map[string]string{
		"stepgate.io/bypass": "2026-11-22T21:00:00Z INC-1234, hotfix of the login", "stepgate.io/require": "everything",
	}
	lines := judged(set, apps).Tree(screen.Screen{Width: 80}, now, false)
	expectFits(t, screen.Screen{Width: 80}, lines)
	golden.Expect(t, "get-exempt-80.golden", strings.Join(lines, "\n")+"\n")
}

func TestList(t *testing.T) {
	list := &rollout.List{TypeMeta: metav1.TypeMeta{APIVersion: rollout.APIVersion, Kind: "RolloutList"}}
	for _, name := range []string{"believed", "complete", "degraded", "large", "syncing"} {
		set, apps := scene(scenes[name])
		set.Name = "guestbook-" + name
		list.Items = append(list.Items, judged(set, apps))
	}
	plain := guestbookWithoutSteps()
	list.Items = append(list.Items, judged(plain, nil))
	for kind, s := range screens {
		t.Run(kind, func(t *testing.T) {
			lines := list.Lines(s, now, true, false)
			expectFits(t, s, lines)
			golden.Expect(t, "list-"+kind+".golden", strings.Join(lines, "\n")+"\n")
		})
	}
	t.Run("wide", func(t *testing.T) {
		golden.Expect(t, "list-wide.golden", strings.Join(list.Lines(screen.Screen{Width: 80}, now, false, true), "\n")+"\n")
	})
}

func guestbookWithoutSteps() *argo.ApplicationSet {
	set, _ := scene("")
	set.Name, set.Spec.Strategy = "plain", nil
	return set
}

// expectFits asks that no line is wider than the screen. A command to copy may be: it is never cut.
func expectFits(t *testing.T, s screen.Screen, lines []string) {
	t.Helper()
	for _, line := range lines {
		NewWithT(t).Expect(screen.Length(line)).To(BeNumerically("<=", s.Width), line)
	}
}

func printed(t *testing.T, format string, object runtime.Object) string {
	t.Helper()
	g := NewWithT(t)
	printer, err := genericclioptions.NewJSONYamlPrintFlags().ToPrinter(format)
	g.Expect(err).NotTo(HaveOccurred())
	var text strings.Builder
	g.Expect(printer.PrintObj(object, &text)).To(Succeed())
	return text.String()
}

// Two hundred Applications fit on a screen of 24 lines.
func TestTwoHundredApplicationsFitOnAScreen(t *testing.T) {
	r := judged(scene(scenes["large"]))
	g := NewWithT(t)
	g.Expect(r.Total).To(Equal(200))
	g.Expect(len(r.Tree(screen.Screen{Width: 80}, now, false))).To(BeNumerically("<=", 30), fmt.Sprint(r.Total))
}
