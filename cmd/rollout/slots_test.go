// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/slots"
)

// crowded has the only slot of step 3 taken: its maxUpdate is 25% of four.
const crowded = "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/Synced@new:Healthy@new " +
	"3:prod-1=Progressing/Synced@new:Progressing@new 3:prod-2..4=Healthy/OutOfSync@new:Waiting@new"

// unreadable are slots that nobody may read.
type unreadable struct{}

// Text is slots.Texts.
func (unreadable) Text(types.UID) (string, error) {
	return "", errors.New(`configmaps is forbidden: User "bob" cannot list resource "configmaps" in the namespace ` +
		`"stepgate"`)
}

// keeping is the Preview of an installation that keeps maxUpdate.
func keeping(known *rollout.Snapshot, texts slots.Texts) *webhook.Preview {
	keeps := config
	keeps.MaxUpdate = true
	return webhook.NewPreview(keeps, knownBy(known), texts)
}

// TestMaxUpdateIsShown by get and explain, with what the gate says about a sync that has no slot.
func TestMaxUpdateIsShown(t *testing.T) {
	g := NewWithT(t)
	set, apps := scene(crowded)
	known := rollout.NewSnapshot()
	known.Add(set, apps...)
	r := rollout.Judge(keeping(known, nil).Outlook(known.Sets()[0]))
	g.Expect(r.Problems).To(BeEmpty())
	g.Expect(r.Line()).To(Equal("argocd/guestbook: Progressing, step 3/3, 2 of 6 done, waiting for: " +
		"guestbook-prod-1 (NotHealthy: Progressing)"))
	g.Expect(r.Steps[2].Applications[1].Sentence()).To(Equal(
		"waits: MaxUpdateReached: its maxUpdate is 1: guestbook-prod-1 (NotHealthy: Progressing)"))
	expectTree(t, "max-update", r)

	explain := func(preview *webhook.Preview) *rollout.Explanation {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(apps[3])
		g.Expect(err).NotTo(HaveOccurred())
		x, err := rollout.Explain(t.Context(), preview, known, rollout.Question{
			Live: &unstructured.Unstructured{Object: object}, App: apps[3],
			By: "the settings of Deployment stepgate/stepgate",
		})
		g.Expect(err).NotTo(HaveOccurred())
		return x
	}
	x := explain(keeping(known, nil))
	g.Expect(x.Outcome).To(Equal(rollout.Held))
	g.Expect(x.Message).To(Equal("step 3 of ApplicationSet argocd/guestbook may not sync yet (MaxUpdateReached: its " +
		"maxUpdate is 1): guestbook-prod-1 (NotHealthy: Progressing). Nobody has to do anything: the sync starts by itself"))
	for kind, s := range screens {
		lines := x.Lines(s, now)
		expectFits(t, s, lines)
		golden.Expect(t, "explain-max-update-"+kind+".golden", strings.Join(lines, "\n")+"\n")
	}
	golden.Expect(t, "explain-max-update.json", printed(t, "json", x))

	blind := keeping(known, unreadable{})
	problem := ContainElement(HavePrefix("the slots of maxUpdate count by what the Applications show, and the gate may " +
		"know of more, because its ConfigMaps cannot be read: configmaps is forbidden: "))
	g.Expect(explain(blind).Problems).To(problem)
	unread := rollout.Judge(blind.Outlook(known.Sets()[0]))
	g.Expect(unread.Problems).To(problem)
	s := screen.Screen{Width: 80}
	lines := unread.Tree(s, now, false)
	expectFits(t, s, lines)
	golden.Expect(t, "get-max-update-unread-80.golden", strings.Join(lines, "\n")+"\n")
}
