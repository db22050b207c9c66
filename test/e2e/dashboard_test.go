// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestDashboard opens `stepgate dashboard` in a real Chromium while the real Argo CD rolls a commit out:
// `make dashboard-argocd`. The page has to show what git and the cluster say.
func TestDashboard(t *testing.T) {
	chosen.run(t, report.Suite{}, []mode{conditional},
		func(ctx context.Context, t *testing.T, _ options, s *suite) (string, error) {
			t.Run("a rollout", func(t *testing.T) { // dashboard and browser end before the API server does
				w := &waiting{rollout: newRollout(ctx, s, scenario{key: "seen", each: 1}, conditional)}
				d := &onScreen{WithT: NewWithT(t), t: t, waiting: w}
				d.Expect(script.Run(d.play)).To(Succeed())
			})
			return "", nil
		})
}

// onScreen is a rollout with an approval for the last step, which somebody looks at in a browser.
type onScreen struct {
	*WithT
	*waiting
	*browser.Browser
	t *testing.T
}

// play rolls a commit out. Each Application is Progressing until the script says otherwise, so that every state of the
// page stays until it is looked at.
func (d *onScreen) play() {
	d.prepare()
	d.annotateSet("approve", "3")
	d.open()
	d.shows("done", "done", "done")

	d.begin()
	dev, qa, prod := d.one("dev"), d.one("qa"), d.one("prod")
	d.versionAs("2", d.members, "Progressing", d.members...)
	held := d.hold([]*member{prod})
	d.refreshAtOnce(prod, qa, dev)
	d.untilDeployed("2", "1", "1")
	d.shows("running", "waits", "waits")
	d.saysAsExplain(qa, prod)
	d.saysAsExplain(prod, qa)

	d.health(dev, "Healthy")
	d.untilDeployed("2", "2", "1")
	d.shows("done", "running", "waits")
	d.saysAsExplain(prod, qa)

	d.health(qa, "Healthy")
	d.shows("done", "done", "held")
	d.saysAsExplain(prod, qa)
	d.stand(held)
	d.untilDeployed("2", "2", "1")

	held.due = d.approve(prod)
	d.untilDeployed("2", "2", "2")
	d.shows("done", "done", "running")
	d.health(prod, "Healthy")
	d.end()
	d.shows("done", "done", "done")
	d.Sees(fmt.Sprintf(".sg-timeline li:has-text('%.7s') >> text=in order", prod.revision))
	d.Expect(d.Complaints()).To(BeEmpty())

	d.starts = d.judge()
	for _, m := range d.members {
		d.Expect(d.starts).To(ContainElement(HaveField("Application", m.name)))
	}
	d.Expect(early(d.starts)).To(BeZero(), "out of order: %v", d.starts)
	d.Expect(d.early()).To(BeEmpty(), "before the approval")
}

// flags make a command of stepgate run as the approver.
func (d *onScreen) flags() []string {
	return []string{"--kubeconfig", script.Get(d.AdminKubeconfig()), "-n", string(d.mode), "--as", approver}
}

// open opens the rollout.
func (d *onScreen) open() {
	address := browser.Dashboard(d.t, d.Binary, d.flags()...)
	d.Browser = browser.Start(d.t)
	d.Open(browser.Tab{URL: address, Width: 1280, Height: 900})
	d.Click("tbody a:has-text('" + d.name + "')")
	d.Sees("[data-step]") // the heading is there before the rollout has been read
}

// shows waits until the tiles of the steps are of these kinds.
func (d *onScreen) shows(kinds ...string) {
	d.t.Helper()
	var shown []string
	d.untilWithin(d.scenario.within(), "the tiles "+strings.Join(kinds, ", "), func() bool {
		d.refreshOverlooked()
		shown = shown[:0]
		for i, m := range d.members {
			var kind string
			d.Evaluate(fmt.Sprintf(
				`[...document.querySelector('[data-step="%d"] [data-tile="%s"]').closest('li').classList].find(c => c.startsWith('sg-tile-')).slice(8)`,
				i+1, m.name), &kind)
			shown = append(shown, kind)
		}
		return slices.Equal(shown, kinds)
	})
	d.t.Logf("the page shows %s", strings.Join(kinds, ", "))
}

// untilDeployed waits until the cluster has these versions, step by step.
func (d *onScreen) untilDeployed(versions ...string) {
	d.t.Helper()
	for i, m := range d.members {
		d.until(m.name+" at version "+versions[i], func() bool { return d.deployed(m) == versions[i] })
	}
}

// panel is what an Application's panel says: in whole sentences, and as the whole text of stepgate explain.
const panel = `(panel => ({
	sentences: [
		...[...panel.querySelectorAll('.sg-verdict, .sg-do, .sg-says, .sg-conditions bdi')].map(e => e.innerText),
		...[...panel.querySelectorAll('.sg-blockers > li')].map(e => e.innerText.split('\n')[0]),
		...[...panel.querySelectorAll('h3')].filter(h => h.textContent.startsWith('Text'))
			.map(h => h.nextElementSibling.innerText),
	],
	whole: panel.querySelector('pre')?.textContent ?? '',
}))(document.querySelector('[role=dialog]'))`

// saysAsExplain compares the panel of an Application with `stepgate explain`, word for word. What explain says of another
// one is different, or the comparison sees nothing.
func (d *onScreen) saysAsExplain(m, another *member) {
	d.t.Helper()
	d.Evaluate("document.querySelector(`[data-tile='"+m.name+"']`).click()", nil) // its step may be folded
	d.Sees("[role=dialog] >> .sg-verdict")
	var said struct {
		Sentences []string
		Whole     string
	}
	d.Eventually(func(g Gomega) {
		d.Evaluate(panel, &said)
		g.Expect(len(said.Sentences)).To(BeNumerically(">", 2), "the verdict, what holds it up, and the text")
		text := d.explained(m)
		g.Expect(words(said.Whole)).To(Equal(text))
		g.Expect(text).To(containAll(said.Sentences))
	}, seenWithin).Should(Succeed())
	d.Expect(d.explained(another)).NotTo(containAll(said.Sentences), "explain says the same of %s", another.name)
	d.t.Logf("as stepgate explain %s: %q", m.name, said.Sentences)
	d.Press("Escape")
}

// containAll matches a text with all of these sentences.
func containAll(sentences []string) types.GomegaMatcher {
	var all []types.GomegaMatcher
	for _, s := range sentences {
		all = append(all, ContainSubstring(words(s)))
	}
	return And(all...)
}

// explained is what `stepgate explain` prints, without its lines.
func (d *onScreen) explained(m *member) string {
	command := exec.CommandContext(d.ctx, d.Binary, append([]string{"explain", m.name}, d.flags()...)...)
	command.Env = append(os.Environ(), "COLUMNS=80")
	text, err := command.Output()
	if exit := (&exec.ExitError{}); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		script.Mustf(err, "stepgate explain %s", m.name)
	}
	return words(string(text))
}

// words are a text without its lines.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// approve approves the last step in the browser, and returns the moment of the click.
func (d *onScreen) approve(prod *member) moment {
	d.t.Helper()
	d.Click("button:has-text('Approve step 3')")
	d.Sees("[role=dialog] >> text=This would happen")
	d.Expect(d.applicationSet().Annotations).NotTo(HaveKey(settings.ApprovedAnnotation))
	clicked := moment{at: time.Now()}
	d.Click("[role=dialog] button:text-is('Approve')")
	d.Sees("[role=dialog] >> text=Done")
	d.Expect(d.applicationSet().Annotations).To(And(
		HaveKeyWithValue(settings.ApprovedAnnotation, "3@"+prod.revision),
		HaveKeyWithValue(settings.ApprovedByAnnotation, ContainSubstring(`"by":"`+approver+`"`))))
	d.Click("[role=dialog] button:text-is('Close')")
	return clicked
}
