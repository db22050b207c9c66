package doctor_test

import (
	"errors"
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

// The commands are those of docs/emergency.md.
func TestTheCommandsAreDocumented(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "emergency.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for i, w := range healthy(t).sources(t).GatherInstalled(t.Context()).Ways(nil) {
		for _, c := range w.Commands {
			if strings.Contains(c, "annotate") {
				continue // the page names the annotations, and no command
			}
			g.Expect(string(page)).To(ContainSubstring(c), "way %d", i+1)
		}
	}
}
