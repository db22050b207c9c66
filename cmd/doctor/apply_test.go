// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/stepgate/stepgate/cmd/doctor"
)

// wayOf returns a way of the healthy world that can be applied, with its cluster.
func wayOf(t *testing.T, name string, namespaces ...string) (doctor.Way, *fake.Clientset) {
	t.Helper()
	sources := healthy(t).sources(t)
	for _, w := range sources.GatherInstalled(t.Context()).Ways(namespaces) {
		if w.Name == name {
			return w, sources.Kube.(*fake.Clientset)
		}
	}
	t.Fatal("no such way")
	return doctor.Way{}, nil
}

func TestApplyLabelsTheGatedNamespaces(t *testing.T) {
	g := NewWithT(t)
	way, kube := wayOf(t, doctor.WayNamespace)
	g.Expect(way.Applicable()).To(Succeed())
	var did []string
	g.Expect(way.Apply(t.Context(), kube, func(text string) { did = append(did, text) })).To(Succeed())
	g.Expect(did).To(ConsistOf(HavePrefix("namespace/argocd labelled")))
	for name, labelled := range map[string]bool{"argocd": true, "default": false} {
		n, err := kube.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		_, is := n.Labels["stepgate.io/ignore"]
		g.Expect(is).To(Equal(labelled), name)
	}
}

func TestApplyRemovesTheValidatingConfigurationFirst(t *testing.T) {
	g := NewWithT(t)
	way, kube := wayOf(t, doctor.WayWebhooks)
	kube.ClearActions()
	g.Expect(way.Apply(t.Context(), kube, func(string) {})).To(Succeed())
	var deleted []string
	for _, a := range kube.Actions() {
		deleted = append(deleted, a.GetVerb()+" "+a.GetResource().Resource)
	}
	g.Expect(deleted).To(Equal([]string{"delete validatingwebhookconfigurations", "delete mutatingwebhookconfigurations"}))
	g.Expect(way.Apply(t.Context(), kube, func(text string) {
		t.Error("it did ", text)
	})).To(Succeed(), "once more does nothing")
}

// The mutating configuration never goes alone.
func TestApplyKeepsTheMutatingConfigurationIfTheOtherOneStays(t *testing.T) {
	g := NewWithT(t)
	way, kube := wayOf(t, doctor.WayWebhooks)
	kube.PrependReactor("delete", "validatingwebhookconfigurations",
		func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no")
		})
	g.Expect(way.Apply(t.Context(), kube,
		func(string) {})).To(MatchError(ContainSubstring("delete ValidatingWebhookConfiguration stepgate: no")))
	_, err := kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "stepgate",
		metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
}

func TestApplyGoesOnAfterAFailure(t *testing.T) {
	g := NewWithT(t)
	way, kube := wayOf(t, doctor.WayNamespace, "missing", "argocd")
	var did []string
	g.Expect(way.Apply(t.Context(), kube, func(text string) {
		did = append(did, text)
	})).To(MatchError(ContainSubstring("label namespace missing")))
	g.Expect(did).To(ConsistOf(HavePrefix("namespace/argocd labelled")))
}

func TestWaysThatCannotBeApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		way    string
		want   string
	}{
		"no namespace is gated":          {func(w *world) { w.guestbook = nil }, doctor.WayNamespace, "name one with --namespace"},
		"the selector lacks the switch":  {func(w *world) { w.mutating.Webhooks[0].NamespaceSelector = nil }, doctor.WayNamespace, "It does not help here"},
		"there is nothing to be removed": {uninstall, doctor.WayWebhooks, "it is not in the way"},
	} {
		t.Run(name, func(t *testing.T) {
			w := healthy(t)
			tc.change(w)
			for _, way := range w.sources(t).GatherInstalled(t.Context()).Ways(nil) {
				if way.Name == tc.way {
					NewWithT(t).Expect(way.Applicable()).To(MatchError(ContainSubstring(tc.want)))
				}
			}
		})
	}
}

// docs/emergency.md has the ways in the same order, with the same commands, whether Helm or Argo CD installed stepgate.
func TestTheWaysAreThoseOfThePage(t *testing.T) {
	for name, change := range map[string]func(*world){
		"Helm": func(*world) {}, "Argo CD": byArgoCD, "nothing is installed": uninstall,
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			change(w)
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", "emergency.md"))
			g.Expect(err).NotTo(HaveOccurred())
			page, at := string(text), 0
			for i, way := range w.sources(t).GatherInstalled(t.Context()).Ways(nil) {
				section := strings.Index(page[at:], fmt.Sprintf("\n## %d. If %s", i+1, way.For))
				g.Expect(section).To(BeNumerically(">=", 0), "the page has way %d: %s", i+1, way.For)
				at += section + 1
				section = max(strings.Index(page[at:], "\n## "), 0)
				for _, command := range way.Commands {
					command, _, _ = strings.Cut(command, "  #")
					if before, _, isTime := strings.Cut(command, "=2026-"); isTime {
						command = before // and the page has another time
					}
					command = strings.Replace(command, "applicationset guestbook", "applicationset NAME", 1)
					g.Expect(page[at:at+section]).To(ContainSubstring(command), "way %d", i+1)
				}
				for _, commit := range way.Commits {
					g.Expect(page[at:at+section]).To(ContainSubstring(commit.Values), "way %d", i+1)
				}
			}
		})
	}
}

// If the configurations cannot be read, they are found by their label when they are deleted.
func TestApplyFindsTheConfigurationsByTheirLabel(t *testing.T) {
	g := NewWithT(t)
	kube := healthy(t).sources(t).Kube.(*fake.Clientset)
	var did []string
	for _, way := range doctor.NotRead(now, errors.New("no answer")).Ways(nil) {
		if way.Name == doctor.WayWebhooks {
			g.Expect(way.Applicable()).To(Succeed())
			g.Expect(way.Apply(t.Context(), kube, func(text string) { did = append(did, text) })).To(Succeed())
		}
	}
	g.Expect(did).To(ConsistOf(HavePrefix("validatingwebhookconfiguration/stepgate deleted"),
		HavePrefix("mutatingwebhookconfiguration/stepgate deleted")))
}

// Somebody who may delete the configurations, and not list them, deletes those with the usual name.
func TestApplyWithoutTheRightToList(t *testing.T) {
	g := NewWithT(t)
	w := healthy(t)
	w.mayNot = func(verb, _, _ string) bool { return verb == "list" }
	sources := w.sources(t)
	var did []string
	for _, way := range sources.GatherInstalled(t.Context()).Ways([]string{"argocd"}) {
		if way.Name != "" {
			g.Expect(way.Applicable()).To(Succeed())
			err := way.Apply(t.Context(), sources.Kube, func(text string) { did = append(did, text) })
			if way.Name == doctor.WayWebhooks {
				g.Expect(err).To(MatchError(
					ContainSubstring("list the configurations with the label app.kubernetes.io/part-of=stepgate")))
			}
		}
	}
	g.Expect(did).To(ConsistOf(HavePrefix("namespace/argocd labelled"),
		HavePrefix("validatingwebhookconfiguration/stepgate deleted"),
		HavePrefix("mutatingwebhookconfiguration/stepgate deleted")))
}
