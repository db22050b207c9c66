// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestWavesAreSteps(t *testing.T) {
	g := NewWithT(t)
	set := &ApplicationSet{Waves: true}
	g.Expect(set.Ordered()).To(BeTrue())
	steps := map[string]int{}
	for _, wave := range []string{"", "0", "-5", "20", "soon", "99999999999", "-99999999999"} {
		steps[wave] = set.StepOf(map[string]string{WaveLabel: wave})
	}
	g.Expect(steps[""]).To(Equal(steps["0"]), "no annotation is wave 0")
	g.Expect(steps["soon"]).To(Equal(steps["0"]), "Argo CD counts what is no number as 0")
	g.Expect(steps["-5"]).To(BeNumerically("<", steps["0"]))
	g.Expect(steps["0"]).To(BeNumerically("<", steps["20"]))
	g.Expect(steps["99999999999"]).To(Equal(WaveStep(MostWave)))
	g.Expect(steps["-99999999999"]).To(Equal(WaveStep(-MostWave)))
	g.Expect(WaveStep(-MostWave)).To(BeNumerically(">", 1<<20), "it is no step of a list")

	for _, wave := range []int{-MostWave, -1, 0, 1, 20, MostWave} {
		step, err := set.Step(wave)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(StepNumber(step)).To(Equal(wave))
	}
	_, err := set.Step(MostWave + 1)
	g.Expect(err).To(MatchError("there is no wave 16777217: waves are between -16777216 and 16777216"))
}

func TestStepNames(t *testing.T) {
	for want, steps := range map[string][]int{
		"step 3":                       {2},
		"steps 1 and 3":                {2, 0, 2},
		"wave 0":                       {WaveStep(0)},
		"waves -1 and 20":              {WaveStep(20), WaveStep(-1)},
		"waves 1, 2, 3 and 1 more":     {WaveStep(1), WaveStep(2), WaveStep(3), WaveStep(4)},
		"waves -16777216 and 16777216": {WaveStep(-1 << 40), WaveStep(1 << 40)},
	} {
		NewWithT(t).Expect(StepNames(steps)).To(Equal(want))
	}
}

func TestCalled(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Called("argocd/guestbook")).To(Equal("ApplicationSet argocd/guestbook"))
	g.Expect(Called("argocd/" + NameOfParent("platform"))).To(Equal("Application argocd/platform"))
}

func TestWhatAParentHasYetToCreateIsItsToCreate(t *testing.T) {
	g := NewWithT(t)
	set := &ApplicationSet{Namespace: "argocd", Name: NameOfParent("platform"), Waves: true}
	b := set.doesNotExist("new", Recorded{Step: WaveStep(7) + 1})
	need := b.Need("argocd/" + set.Name)
	g.Expect(need.Actor).To(Equal(ArgoCD))
	g.Expect(need.Do).To(Equal("wait until Argo CD has synced platform, which creates new"))
	set.ByHand = true
	b = set.doesNotExist("new", Recorded{Step: WaveStep(7) + 1})
	need = b.Need("argocd/" + set.Name)
	g.Expect(need.Actor).To(Equal(You))
	g.Expect(need.Text).To(Equal("new (NotGenerated: it does not exist yet, and its parent has no automated sync)"))
	g.Expect(need.Do).To(Equal("sync its parent, which creates new: argocd app sync platform"))
	lacking := map[string]ChildSet{SetMember("addons"): {Step: WaveStep(7)}}
	in := Input{ApplicationSet: &ApplicationSet{Name: NameOfParent("platform"), Waves: true, Sets: lacking}}
	for step, want := range map[int]bool{7: false, 8: true} {
		b, blocks := BlockedBy(in, WaveStep(step), SetMember("addons"), nil)
		g.Expect(blocks).To(Equal(want), "wave %d", step)
		g.Expect(b.Step == WaveStep(7)).To(Equal(want))
	}
	for detail, actor := range map[string]Actor{
		"": ArgoCD, Unwritten: ArgoCD, OwnRollout: ArgoCD, "it reports an error: x": You,
	} {
		lacking := ChildSet{Step: WaveStep(7), Detail: detail, Next: "do this"}
		set = &ApplicationSet{Name: NameOfParent("platform"), Sets: map[string]ChildSet{SetMember("addons"): lacking}}
		b = set.doesNotExist(SetMember("addons"), lacking.recorded())
		g.Expect(b.Need("").Actor).To(Equal(actor), detail)
	}
	b = (&ApplicationSet{}).doesNotExist("new", Recorded{Step: 2})
	g.Expect(b.Next).To(BeEmpty(), "the ApplicationSet controller does")
}
