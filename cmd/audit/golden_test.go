// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/test/golden"
)

// screens print a report in all widths, plain and coloured.
func screens(t *testing.T, name string, r *audit.Report, wide bool) {
	t.Helper()
	for suffix, s := range map[string]screen.Screen{
		"-80": {Width: 80}, "-140": {Width: 140}, "-80-colour": {Width: 80, Colour: true}, "-140-colour": {Width: 140, Colour: true},
	} {
		lines := audit.Text(s, r, wide)
		for _, line := range lines {
			if !strings.Contains(line, "https://") {
				NewWithT(t).Expect(screen.Length(line)).To(BeNumerically("<=", s.Width), line)
			}
		}
		golden.Expect(t, name+suffix+".golden", strings.Join(lines, "\n")+"\n")
	}
}

// report audits several ApplicationSets, by name, a day later.
func report(sets map[string][]string, o audit.Options) *audit.Report {
	c := &audit.Collection{}
	for name, lines := range sets {
		set := guestbook(name)
		if strings.HasPrefix(name, "waves") {
			set = waves(name)
		}
		c.AddSet(set)
		for _, line := range lines {
			c.AddApplication(application(set, line))
		}
	}
	o.Now, o.Context = epoch.Add(24*time.Hour), "prod-cluster"
	return c.Report(o)
}

// sample has rollouts of every verdict, in three ApplicationSets.
func sample() *audit.Report {
	return report(map[string][]string{
		"guestbook": {
			"guestbook-dev dev a@0-12 b@3642-3680 c@7200-7214 d@20010-20031",
			"guestbook-qa qa a@30-44 b@3700-3722 c@7260-7281 d@20090-20101",
			"guestbook-prod-eu prod a@60-81 b@3601-3613 c@7300-7322 d@20040-20160",
			"guestbook-prod-us prod a@60-85 b@3660-3671 c@7301-7329 d@20120-20139",
		},
		"payments": {
			"payments-dev dev repo=payments e@100-131 f@4000-4040 g@8000-8031 h@9000-9040",
			"payments-qa qa repo=payments e@140-171 f@4040-4075 g@8040-8071 h@9050-9081",
			"payments-prod prod repo=payments e@180-240 f@4090-4151 g@7890-7960h h@8990-9190",
		},
		"monitoring": {
			"monitoring-dev dev repo=monitoring i@1000-1010 j@5000-5010",
			"monitoring-qa qa repo=monitoring i@1020-1025",
			"monitoring-prod prod repo=monitoring i@1030-1040 j@5020-5041 k@6000-6010",
			"monitoring-lab lab repo=monitoring i@1000-1010",
		},
	}, audit.Options{Since: 7 * 24 * time.Hour})
}

func TestScreens(t *testing.T) {
	screens(t, "found", sample(), false)
	screens(t, "wide", sample(), true)
	screens(t, "fine", report(map[string][]string{"guestbook": {
		"guestbook-dev dev a@0-12 b@3642-3680", "guestbook-qa qa a@30-44 b@3700-3722", "guestbook-prod-eu prod a@60-81 b@3801-3813",
	}}, audit.Options{}), false)
	screens(t, "many", report(many(), audit.Options{}), false)
	screens(t, "ends", ends(), false)
	screens(t, "nothing", report(map[string][]string{"guestbook": {"guestbook-dev dev"}}, audit.Options{}), false)
	screens(t, "none", report(nil, audit.Options{}), false)
	screens(t, "waves", byWaves(), true)
	unordered := &audit.Collection{}
	unordered.AddSet(&argo.ApplicationSet{})
	screens(t, "without-steps", unordered.Report(audit.Options{Now: epoch}), false)
}

// ends has syncs that failed or still run, a chart, and steps that share no source.
func ends() *audit.Report {
	return report(map[string][]string{
		"failing": {"failing-dev dev a@0-1 b@110-170f", "failing-prod prod a@5-6 b@100-105"},
		"failed":  {"failed-dev dev a@0-1 b@110-170", "failed-prod prod a@5-6 b@100-105f"},
		"running": {"running-dev dev a@0-1 b@110", "running-qa qa a@3-4 b@112", "running-prod prod a@5-6 b@100-105"},
		"charts":  {"charts-dev dev chart=redis a@0-1 b@110-150", "charts-prod prod chart=redis a@5-6 b@100-105"},
		"apart":   {"apart-dev dev repo=dev a@0-1", "apart-qa qa repo=qa b@2-3", "apart-prod prod repo=prod c@0-1"},
	}, audit.Options{})
}

// byWaves has an early start and an unclear one, seen against a lower wave. The first wave is no later step, so nothing is
// to be compared for the Application with a source of its own.
func byWaves() *audit.Report {
	return report(map[string][]string{
		"waves": {
			"crds - wave=-1 a@0-12 b@3642-3680 c@5000-5060", "base - repo=base wave=-1 a@0-12",
			"db - a@20-30 b@3690-3700", "api - wave=20 a@60-81 b@3601-3613 c@4990-5200",
		},
	}, audit.Options{})
}

func TestWaves(t *testing.T) {
	g, r := NewWithT(t), byWaves()
	g.Expect(r.ApplicationSets).To(HaveLen(1))
	g.Expect(r.ApplicationSets[0].Steps).To(Equal(3))
	g.Expect(r.ApplicationSets[0].NotComparable).To(BeZero())
	early := r.ApplicationSets[0].Rollouts[1].Early
	g.Expect(early).To(HaveLen(1))
	g.Expect([]any{early[0].Application, early[0].Step, early[0].Wave}).To(Equal([]any{"api", 20, true}))
	g.Expect([]any{early[0].Before[0].Application, early[0].Before[0].Step}).To(Equal([]any{"db", 0}))
	g.Expect(early[0].BeforeCount).To(Equal(2))
	var out bytes.Buffer
	g.Expect(audit.HTML(&out, r)).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring(">Wave -1<"), ContainSubstring(">Wave 20<")))
	g.Expect(out.String()).NotTo(ContainSubstring(">Step "))
}

// many has more of everything than a screen shows.
func many() map[string][]string {
	sets := map[string][]string{}
	for i := range 25 {
		name := "team-" + string(rune('a'+i))
		sets[name] = []string{name + "-dev dev a@0-12", name + "-prod prod a@60-81"}
	}
	dev, prod := "shop-dev dev a@0-1", " a@2-3"
	for i, revision := range strings.Split("bcdefghi", "") {
		dev += strings.NewReplacer("R", revision, "S", itoa(1000*i+200), "E", itoa(1000*i+260)).Replace(" R@S-E")
		prod += strings.NewReplacer("R", revision, "S", itoa(1000*i+100), "E", itoa(1000*i+110)).Replace(" R@S-E")
	}
	for i := range 8 {
		name := "late-" + itoa(i+1)
		sets[name] = []string{name + "-dev dev a@30-42", name + "-prod prod a@10-21"}
	}
	sets["shop"] = []string{dev}
	for i := range 9 {
		sets["shop"] = append(sets["shop"], "shop-prod-"+itoa(i+1)+" prod"+prod)
	}
	return sets
}

func TestJSON(t *testing.T) {
	text, err := json.MarshalIndent(sample(), "", "  ")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	golden.Expect(t, "found.json.golden", string(text)+"\n")
}

func TestHTML(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(audit.HTML(&out, sample())).To(Succeed())
	golden.Expect(t, "found.html.golden", out.String())
	for _, outside := range []string{"<script", "src=", "@import", "url(", "<link", "<img"} {
		g.Expect(out.String()).NotTo(ContainSubstring(outside))
	}
}

// Names come from a cluster, and somebody opens the page in a browser.
func TestHTMLEscapes(t *testing.T) {
	g := NewWithT(t)
	set := guestbook("<em>&")
	c := &audit.Collection{}
	c.AddSet(set)
	for _, line := range []string{`<script>1</script> dev a@50-60`, `"><i> prod a@0-10`} {
		app := application(set, line)
		app.Spec.Source.RepoURL = "javascript:alert(1)//<x>"
		app.Status.History[0].Source.RepoURL = app.Spec.Source.RepoURL
		app.Status.History[0].InitiatedBy.Username = "<u>"
		c.AddApplication(app)
	}
	var out bytes.Buffer
	g.Expect(audit.HTML(&out, c.Report(audit.Options{Now: epoch, Context: "<ctx>"}))).To(Succeed())
	for _, raw := range []string{"<script>", "<em>&", `"><i>`, "<x>", "<u>", "<ctx>", `href="javascript`} {
		g.Expect(out.String()).NotTo(ContainSubstring(raw))
	}
	g.Expect(out.String()).To(ContainSubstring("&lt;script&gt;1&lt;/script&gt;"))
}
