// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// order are the 0-based steps or waves that are known, in order. complete says that there are no others.
func (c *checker) order() (steps []int, complete bool) {
	if c.rule.Waves {
		return c.waves, c.allWaves
	}
	for i := range c.steps {
		steps = append(steps, i)
	}
	return steps, true
}

// checkWaves looks at all that matters with waves only.
func (c *checker) checkWaves() {
	groups := c.counted()
	path := c.countWaves(groups)
	if c.alone && !c.Live {
		c.allWaves, c.result.AllApplications = false, false // Git has the children of an Application
	}
	if c.allWaves && len(c.waves) == 1 {
		f := c.found("one-step", to("metadata", "annotations", settings.WavesAnnotation), fmt.Sprintf(
			"All Applications are in %s, and there is nothing to put in order.", policy.StepName(c.waves[0])))
		f.Remedy = "Give Applications that come later a higher " + syncWave + "."
	}
	c.invalidWaves(path, groups)
	c.absentWaves()
	c.tracks(groups)
	c.orphans()
	if c.hidden != "" {
		c.gap("Applications", "the live Applications: "+c.hidden)
	}
}

// countWaves finds the waves of the Applications. It returns where their sync wave stands.
func (c *checker) countWaves(groups []group) Path {
	found := map[int]bool{}
	c.allWaves = len(groups) > 0
	for _, g := range groups {
		if !g.wave.known {
			c.allWaves = false
			continue
		}
		found[c.rule.StepOf(argocd.Labels(nil, map[string]string{syncWave: g.wave.value}))] = true
	}
	c.waves = slices.Sorted(maps.Keys(found))
	for _, wave := range c.waves {
		c.result.Waves = append(c.result.Waves, policy.StepNumber(wave))
	}
	for _, t := range c.templates() {
		if _, has := t.template.Annotations[syncWave]; has {
			return t.path.and("metadata", "annotations", syncWave)
		}
	}
	if c.alone {
		return to("metadata", "annotations", settings.WavesAnnotation)
	}
	return to("spec", "template", "metadata", "annotations", syncWave)
}

// invalidWaves reports sync waves that are no numbers.
func (c *checker) invalidWaves(path Path, groups []group) {
	var who []string
	text := ""
	for _, g := range groups {
		if _, err := strconv.Atoi(g.wave.value); err == nil || g.wave.value == "" || !g.wave.known {
			continue
		}
		if text == "" {
			text = g.wave.value
		}
		if name := orUnnamed(g.name); !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	if len(who) > 0 {
		c.found("sync-wave-invalid", path, fmt.Sprintf("%s %s the sync wave %q, which is no number: Argo CD counts it as 0.",
			capital(names(who)), hasHave(len(who)), short(text)))
	}
}

// absentWaves reports waves that an annotation names and that no Application has, where all Applications are known.
func (c *checker) absentWaves() {
	if !c.allWaves {
		return
	}
	read := c.settings()
	needs := read.Conditions
	approved := make([]int, 0, len(needs.Approved))
	for _, a := range needs.Approved {
		approved = append(approved, a.Step)
	}
	verified := make([]int, 0, len(read.Verify))
	for _, v := range read.Verify {
		verified = append(verified, v.Step)
	}
	for _, named := range []struct {
		annotation string
		steps      []int
	}{
		{settings.PauseAnnotation, needs.Paused.Of}, {settings.SoakAnnotation, slices.Collect(maps.Keys(needs.Soak.Of))},
		{settings.ApproveAnnotation, needs.Approve.Of}, {settings.ApprovedAnnotation, approved},
		{settings.VerifyAnnotation, verified},
		{settings.MaxUpdateAnnotation, slices.Collect(maps.Keys(c.rule.MaxUpdate))},
	} {
		var absent []string
		for _, step := range slices.Compact(slices.Sorted(slices.Values(named.steps))) {
			if policy.IsWave(step) && !slices.Contains(c.waves, step) {
				absent = append(absent, strconv.Itoa(policy.StepNumber(step)))
			}
		}
		if len(absent) > 0 {
			c.found("wave-not-there", to("metadata", "annotations", named.annotation), fmt.Sprintf(
				"%s names %s, which no Application has: there %s %s.", named.annotation, waveNames(absent),
				isAre(len(c.waves)), waveNames(numbers(c.result.Waves))))
		}
	}
}

func numbers(waves []int) []string {
	all := make([]string, 0, len(waves))
	for _, w := range waves {
		all = append(all, strconv.Itoa(w))
	}
	return all
}

// waveNames lists numbers of waves: "wave 0", "waves -1, 0 and 20".
func waveNames(all []string) string {
	if len(all) == 1 {
		return "wave " + all[0]
	}
	if more := len(all) - maxNames; more > 0 {
		all = append(slices.Clone(all[:maxNames]), fmt.Sprintf("%d more", more))
	}
	return "waves " + and(all)
}
