// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/browser"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// mixed is a rollout with something of each kind: b is on its way, prod waits, and ext is excluded.
func mixed() *scenario.Cluster {
	c := scenario.Of("1:dev=Healthy@b 1:ext=Degraded@b 2:qa-eu=Degraded@b 2:qa-us=Progressing@b 2:qa-asia=Healthy@b " +
		"3:prod-eu=Healthy@b 3:prod-us=Healthy@b")
	for _, app := range c.Apps[5:] {
		app.Status.Sync.Status = "OutOfSync"
	}
	c.Sets[0].Annotations = map[string]string{
		settings.ExcludeAnnotation: "ext " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + " INC-1",
	}
	return nowIs(c, time.Now())
}

// waitsForApproval is a rollout in which nothing but an approval is missing.
func waitsForApproval() *scenario.Cluster {
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	c.Apps[2].Status.Sync.Status = "OutOfSync"
	c.Sets[0].Annotations = map[string]string{settings.ApproveAnnotation: "3"}
	return nowIs(c, time.Now())
}

// said is what a command of stepgate prints about a namespace.
func said(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	kubeconfig, err := shared.AdminKubeconfig()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out, _ := exec.CommandContext(t.Context(), shared.Binary,
		append(args, "--kubeconfig", kubeconfig, "-n", namespace)...).Output() // exit code 1 says that it waits
	return string(out)
}

// TestAllRollouts shows each in a row, with the words of `stepgate get`.
func TestAllRollouts(t *testing.T) {
	write(t, "all", mixed())
	b := serve(t, "all", cluster.Human)
	for _, tab := range []browser.Tab{desk, {Width: 390, Height: 844}, {Width: 2560, Height: 1440, Dark: true}} {
		b.open(tab, "")
		b.Sees("tbody tr")
		row := b.Text("tbody tr")
		b.Expect(row).To(And(ContainSubstring("guestbook"), ContainSubstring("qa-eu (NotHealthy: Degraded) (+1 more)")))
		b.Expect(said(t, "all", "get")).To(ContainSubstring("qa-eu (NotHealthy: Degraded) and 1 more"))
		b.wellFormed()
	}
	b.Press("/")
	b.Fill(":focus", "nothing of this name")
	b.Sees("text=No rollout matches.")
	b.Fill(":focus", "guest")
	b.Click("tbody a")
	b.Sees("h1:has-text('guestbook')")
	b.Expect(b.Complaints()).To(BeEmpty())
}

// TestOneRollout shows its steps and Applications, and explains one by the words of `stepgate explain`.
func TestOneRollout(t *testing.T) {
	write(t, "one", mixed())
	gated(t, "one")
	b := serve(t, "one", cluster.Human)
	for next, tab := range map[string]browser.Tab{
		"ArrowDown": desk, "End": {Width: 390, Height: 844, Dark: true}, "ArrowRight": {Width: 2560, Height: 1440},
	} {
		b.open(tab, "guestbook")
		b.Sees("[data-tile='prod-eu']")
		b.Expect(b.Count("[data-tile]")).To(Equal(7))
		b.Expect(b.Count("[data-step='1'] details[open]")).To(BeZero(), "a finished step is folded")
		for name, kind := range map[string]string{
			"dev": "done", "ext": "excluded", "qa-eu": "failed", "qa-us": "running", "prod-eu": "waits",
		} {
			b.Expect(b.Count(".sg-tile-"+kind+" [data-tile='"+name+"']")).To(Equal(1), name)
		}
		b.Expect(b.Text("[data-step='3']")).To(ContainSubstring("waits for qa-eu and 1 more"))
		b.wellFormed()

		b.Click("[data-tile='prod-eu']")
		b.Sees("[role=dialog] >> text=A sync by the ApplicationSet controller")
		panel := strings.Join(strings.Fields(b.Text("[role=dialog]")), " ")
		explained := strings.Join(strings.Fields(said(t, "one", "explain", "prod-eu")), " ")
		verdict := "A sync by the ApplicationSet controller is held now. It starts by itself when its turn comes."
		b.Expect(panel).To(ContainSubstring(verdict))
		b.Expect(explained).To(ContainSubstring(verdict))
		b.wellFormed()
		b.Press("Escape")
		b.Eventually(b.focused).Should(Equal("prod-eu"), "the focus is back")
		b.Press(next)
		b.Eventually(b.focused).Should(Equal("prod-us"), next)
	}
	b.Expect(b.Text("main")).To(ContainSubstring("Last rollouts"))
}

// TestTheHistory shows the first ten rollouts, and the others after a click, at each width.
func TestTheHistory(t *testing.T) {
	write(t, "past", mixed())
	kept(t, "past")
	b := serve(t, "past", cluster.Human)
	for _, tab := range []browser.Tab{desk, {Width: 1024, Height: 768}, {Width: 390, Height: 844, Dark: true}} {
		b.open(tab, "guestbook")
		b.Sees("button:text-is('Show 2 more')")
		b.Expect(b.Count(".sg-kept")).To(Equal(10))
		b.Expect(b.Text(".sg-kept")).To(And(ContainSubstring("under way"), ContainSubstring("step 2 waited 39m")))
		b.Expect(b.Text(".sg-kept:nth-child(2)")).To(And(ContainSubstring("complete"), ContainSubstring("1 failure")))
		b.Expect(b.Text(".sg-kept:nth-child(3)")).To(ContainSubstring("superseded"))
		b.wellFormed()
		b.Click(".sg-kept:nth-child(2) .sg-past-verdict")
		b.Sees("text=approved by alice@example.com")
		b.Expect(b.Text(".sg-kept:nth-child(2)")).To(And(
			ContainSubstring("started by hand by bob"), ContainSubstring("jobs.v1.batch/smoke says yes: 2 of 2 succeeded"),
			ContainSubstring("its sync has failed"), ContainSubstring("repaired after 4m"), ContainSubstring("INC-1234"),
			ContainSubstring("28m: step 3 is not approved, since"),
		))
		b.Expect(b.Count(".sg-kept a[href^='https://github.com/infra-team/cluster-deployments/commit/']")).
			To(Equal(1), "of the one that is open")
		b.wellFormed()
		b.Click("button:text-is('Show 2 more')")
		b.Expect(b.Count(".sg-kept")).To(Equal(12))
		b.Sees(".sg-kept:nth-child(11) summary:focus")
	}
}

// TestWithoutAHistory the page says why, and what to do.
func TestWithoutAHistory(t *testing.T) {
	write(t, "no-past", mixed())
	b := serve(t, "no-past", cluster.Human)
	b.open(desk, "guestbook")
	b.Sees("text=It is not known where the history is")
	b.wellFormed()
}

// TestNoHTMLOfTheClusterIsRendered of a message of Argo CD, which whoever deploys may choose.
func TestNoHTMLOfTheClusterIsRendered(t *testing.T) {
	c := mixed()
	c.Apps[2].Status.Conditions = []argo.ApplicationCondition{{
		Type:               argo.ApplicationConditionComparisonError,
		Message:            `<img src=x onerror="document.title='broken'"> <b>bold</b>`,
		LastTransitionTime: &metav1.Time{Time: time.Now()},
	}}
	write(t, "hostile", c)
	b := serve(t, "hostile", cluster.Human)
	b.open(desk, "guestbook")
	b.Click("[data-tile='prod-eu']")
	b.Sees("[role=dialog] >> text=<img src=x onerror")
	b.Expect(b.Count("img")).To(Equal(0))
	b.Expect(b.Count("b:has-text('bold')")).To(Equal(0))
	var title string
	b.Evaluate("document.title", &title)
	b.Expect(title).NotTo(Equal("broken"))
	b.Expect(b.Complaints()).To(BeEmpty())
}

// TestItChangesAsTheClusterDoes without being loaded again.
func TestItChangesAsTheClusterDoes(t *testing.T) {
	write(t, "live", mixed())
	b := serve(t, "live", cluster.Human)
	b.open(desk, "guestbook")
	b.Sees(".sg-tile-running [data-tile='qa-us']")
	b.Click("[data-tile='prod-eu']")
	b.Sees("[role=dialog] >> text=qa-us (NotHealthy: Progressing)")
	edit(t, "live", "qa-us", func(app *argo.Application) {
		app.Status.Health.Status = "Degraded"
		app.Status.ReconciledAt = &metav1.Time{Time: time.Now()}
	})
	b.Sees("[role=dialog] >> text=qa-us (NotHealthy: Degraded)")
	b.Press("Escape")
	b.Sees(".sg-tile-failed [data-tile='qa-us']")
	b.Expect(shared.Admin.DeleteAllOf(t.Context(), &argo.ApplicationSet{}, inNamespace("live"))).To(Succeed())
	b.Sees("text=there is no ApplicationSet live/guestbook")
}

// TestFromTheAddressToAnApprovedStep: the walk of somebody who may approve.
func TestFromTheAddressToAnApprovedStep(t *testing.T) {
	write(t, "approved", waitsForApproval())
	gated(t, "approved")
	b := serve(t, "approved", cluster.Human)
	b.open(desk, "")
	b.Sees("tbody tr:has-text('NotApproved')")
	b.Click("tbody a")
	b.Click("button:has-text('Approve step 3')")
	b.Sees("[role=dialog] >> text=This would happen")
	b.Expect(b.Text("[role=dialog] pre")).To(ContainSubstring("This was a server dry run: nothing is stored."))
	b.Expect(annotated(t, "approved")).NotTo(HaveKey(settings.ApprovedAnnotation))
	b.wellFormed()
	b.Click("[role=dialog] button:text-is('Approve')")
	b.Sees("[role=dialog] >> text=Done")
	b.Expect(b.Text("[role=dialog] pre")).To(ContainSubstring("Approved by " + cluster.Human + " at "))
	b.Expect(annotated(t, "approved")).To(HaveKeyWithValue(settings.ApprovedAnnotation, "3@"+scenario.Commit("b")))
	b.Click("[role=dialog] button:text-is('Close')")
	b.Sees("[data-step='3'] >> text=approved by " + cluster.Human)

	b.Click("button:text-is('Pause…')")
	b.Fill("[role=dialog] input", "INC-1234")
	b.Press("Enter")
	b.Sees("[role=dialog] >> text=This would happen")
	b.Sees("[role=dialog] button:text-is('Cancel'):focus")
	b.Click("[role=dialog] button:text-is('Pause')")
	b.Sees("[role=dialog] >> text=Done")
	b.Sees("[data-step='3'] >> text=INC-1234")
	b.Click("[role=dialog] button:has-text('Resume guestbook')") // it takes back what was just done
	b.Click("[role=dialog] button:text-is('Resume')")
	b.Sees("[role=dialog] >> text=nothing is paused")
	b.Expect(annotated(t, "approved")).NotTo(HaveKey(settings.PauseAnnotation))
	b.Expect(b.Complaints()).To(BeEmpty())
}

// TestWhatOneMayNotIsNotOffered to somebody who only reads.
func TestWhatOneMayNotIsNotOffered(t *testing.T) {
	write(t, "read", waitsForApproval())
	mayRead(t, "read", "reader")
	b := serve(t, "read", "reader")
	b.open(desk, "guestbook")
	b.Sees("[data-step='3'] >> text=NotApproved")
	for _, verb := range []string{"Approve", "Pause", "Resume", "Refresh"} {
		b.Expect(b.Count("button:text-matches('^"+verb+"')")).To(Equal(0), verb)
	}
	b.Click("[data-tile='prod']")
	b.Sees("[role=dialog] >> text=NotApproved")
	b.Expect(b.Count("button:text-matches('^Refresh')")).To(Equal(0))
}

// TestWithoutTheToken the page says what to do.
func TestWithoutTheToken(t *testing.T) {
	write(t, "token", mixed())
	b := serve(t, "token", cluster.Human)
	for _, address := range []string{strings.Split(b.address, "#")[0], b.address + "x"} {
		tab := desk
		tab.URL = address
		b.Open(tab)
		b.Sees("text=This browser has no key")
		b.Expect(b.Text("body")).NotTo(ContainSubstring("guestbook"))
		b.Expect(b.Accessibility()).To(BeEmpty())
	}
}

// TestManyApplications: 300 and 1,000 in one rollout, with names of every character that Kubernetes permits.
func TestManyApplications(t *testing.T) {
	record := browser.NewRecord(t, results, "The dashboard")
	for _, n := range []int{300, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			namespace := fmt.Sprintf("many-%d", n)
			write(t, namespace, manyApplications(n))
			b := serve(t, namespace, cluster.Human)
			began := time.Now()
			b.open(desk, "guestbook")
			b.Sees("text=Show all")
			b.Expect(b.Count("[data-tile]")).To(BeNumerically("<=", 121), "of each step the first ones")
			for b.Count("text=Show all") > 0 {
				b.Click("text=Show all")
			}
			b.Expect(b.Count("[data-tile]")).To(Equal(n))
			opened := time.Since(began)
			b.wellFormed()
			record.Add(n, opened, b.LongestFrame(func() {
				edit(t, namespace, "dev", func(app *argo.Application) {
					app.Status.Health.Status = "Degraded"
					app.Status.ReconciledAt = &metav1.Time{Time: time.Now()}
				})
				b.Sees(".sg-tile-failed [data-tile='dev']")
			}))
		})
	}
}

// A page that works for 200 ms is late: TestManyApplications would record it. A frame has the time of the tick before
// it, so that the time between two may lack one tick of 17 ms at each end.
func TestALateFrameIsSeen(t *testing.T) {
	write(t, "late", mixed())
	b := serve(t, "late", cluster.Human)
	b.open(desk, "guestbook")
	longest := b.LongestFrame(func() {
		b.Evaluate("new Promise(done => setTimeout(() => { const end = performance.now() + 200; "+
			"while (performance.now() < end); setTimeout(done, 500) }))", nil)
	})
	b.Expect(longest).To(BeNumerically(">", 160*time.Millisecond))
}
