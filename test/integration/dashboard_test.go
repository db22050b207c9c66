// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/webhook/settings"
)

// board is `stepgate dashboard` of a user.
type board struct {
	*rollout
	address, token string
	client         *http.Client
	// known has the client get its cookie.
	known func()
}

var dashboardAddress = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#token=(\S+)\. `)

// dashboard runs `stepgate dashboard` with more arguments. It opens no browser.
func (r *rollout) dashboard(args ...string) *board {
	r.t.Helper()
	return r.dashboardWith(nil, append([]string{"--no-browser"}, args...)...)
}

// dashboardWith runs `stepgate dashboard` with more variables and arguments.
func (r *rollout) dashboardWith(variables []string, args ...string) *board {
	r.t.Helper()
	command, out := r.command(append([]string{"dashboard", "--port", "0"}, args...)...)
	command.Env = append(append(os.Environ(), "XDG_CACHE_HOME="+r.t.TempDir()), variables...)
	errors := &process.Output{}
	command.Stderr = errors
	r.Expect(command.Start()).To(Succeed())
	r.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	r.Eventually(out.String).Should(MatchRegexp(dashboardAddress.String()), errors.String)
	found := dashboardAddress.FindStringSubmatch(out.String())
	jar, err := cookiejar.New(nil)
	r.Expect(err).NotTo(HaveOccurred())
	b := &board{rollout: r, address: found[1], token: found[2], client: &http.Client{Jar: jar}}
	b.known = sync.OnceFunc(func() {
		response := b.send(http.MethodPost, "/api/session", nil, "Authorization", "Bearer "+b.token)
		r.Expect(response.StatusCode).To(Equal(http.StatusNoContent))
	})
	return b
}

func (b *board) call(method, path string, body any) *http.Response {
	b.t.Helper()
	b.known()
	return b.send(method, path, body, "Stepgate-Page", "1")
}

func (b *board) send(method, path string, body any, header, value string) *http.Response {
	b.t.Helper()
	text, err := json.Marshal(body)
	b.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(b.ctx, method, b.address+path, bytes.NewReader(text))
	b.Expect(err).NotTo(HaveOccurred())
	request.Header.Set(header, value)
	response, err := b.client.Do(request)
	b.Expect(err).NotTo(HaveOccurred())
	b.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func (b *board) get(path string, into any) {
	b.t.Helper()
	text, err := io.ReadAll(b.call(http.MethodGet, path, nil).Body)
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(json.Unmarshal(text, into)).To(Succeed(), string(text))
}

// detail is the rollout guestbook.
func (b *board) detail() (d dashboard.Detail) {
	b.t.Helper()
	b.get("/api/rollouts/"+b.namespace+"/guestbook", &d)
	return d
}

func (b *board) act(a dashboard.Action) (answer dashboard.Answer) {
	b.t.Helper()
	a.Namespace = b.namespace
	response := b.call(http.MethodPost, "/api/actions", a)
	text, err := io.ReadAll(response.Body)
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(json.Unmarshal(text, &answer)).To(Succeed(), string(text))
	return answer
}

// TestTheDashboardShowsWhatTheCommandLineSays of a rollout that goes on.
func TestTheDashboardShowsWhatTheCommandLineSays(t *testing.T) {
	r := newRollout(t)
	b := r.dashboard()
	var all dashboard.Overview
	b.get("/api/overview", &all)
	b.Expect(all.Problem).To(BeEmpty())
	b.Expect(all.Rows).To(HaveLen(1))
	b.Expect(all.Rows[0].Need.Text).To(Equal("engineering-dev-guestbook (NotHealthy: Progressing)"))
	b.Expect(r.ask("get").out).To(ContainSubstring(all.Rows[0].Need.Text))

	r.refreshed("dev")
	b.Eventually(func(g Gomega) {
		d := b.detail()
		g.Expect(d.Said["engineering-dev-guestbook"].Text).To(Equal("done"))
		g.Expect(d.Said["engineering-prod-guestbook"].Text).To(Equal("waits for engineering-qa-guestbook"))
	}).Should(Succeed())

	var x dashboard.Explained
	b.get("/api/applications/"+b.namespace+"/engineering-prod-guestbook", &x)
	explained := r.ask("explain", "engineering-prod-guestbook").out
	b.Expect(explained).To(ContainSubstring(x.Explanation.Blockers[0].Application))
	b.Expect(strings.Join(strings.Fields(explained), " ")).To(ContainSubstring(x.Verdict))
	var past dashboard.Timeline
	b.get("/api/timelines/"+b.namespace+"/guestbook", &past)
	b.Expect(past.Rollouts).To(And(Not(BeNil()), BeEmpty()), "nothing was deployed before")
}

// TestTheDashboardActsAsItsUser pauses, resumes, approves and refreshes, for somebody who may and for somebody who may
// not.
func TestTheDashboardActsAsItsUser(t *testing.T) {
	a := newApprovals(t)
	b := a.dashboard("--as", "alice", "--as-group", writers, "--as-group", "system:authenticated")
	b.Expect(b.detail().Rights).To(Equal(dashboard.Rights{Annotate: true, Refresh: true}))

	paused := b.act(dashboard.Action{Verb: dashboard.Pause, Name: "guestbook", Step: 3, Reason: "INC 1", DryRun: true})
	b.Expect(paused.OK).To(BeTrue(), strings.Join(paused.Lines, "\n"))
	b.Expect(paused.Command).To(Equal("stepgate pause guestbook -n " + a.namespace + " --step 3 --reason 'INC 1'"))
	b.Expect(a.annotated()).NotTo(HaveKey(settings.PauseAnnotation))
	b.Expect(b.act(dashboard.Action{Verb: dashboard.Pause, Name: "guestbook", Step: 3, Reason: "INC 1"}).OK).To(BeTrue())
	b.Expect(a.annotated()).To(HaveKeyWithValue(settings.PausedByAnnotation, HavePrefix("alice at ")))
	prod := func() string { return b.detail().Said["engineering-prod-guestbook"].Text }
	b.Eventually(prod).Should(ContainSubstring("Paused"))
	b.Expect(b.act(dashboard.Action{Verb: dashboard.Resume, Name: "guestbook"}).OK).To(BeTrue())
	b.Expect(a.annotated()).NotTo(HaveKey(settings.PauseAnnotation))

	b.Expect(a.annotateAs("alice", map[string]any{settings.ApproveAnnotation: "3"})).To(Succeed())
	shown := b.act(dashboard.Action{Verb: dashboard.Approve, Name: "guestbook", DryRun: true})
	b.Expect(shown.Approves).To(Equal([]string{guestbook.NewCommit}))
	other := []string{guestbook.OldCommit}
	outdated := b.act(dashboard.Action{Verb: dashboard.Approve, Name: "guestbook", Approves: other})
	b.Expect(outdated.OK).To(BeFalse())
	b.Expect(outdated.Lines).To(Equal([]string{
		"what step 3 would deploy has changed meanwhile: nothing is approved, look at it again",
	}))
	b.Expect(a.annotated()).NotTo(HaveKey(settings.ApprovedAnnotation))
	approved := b.act(dashboard.Action{Verb: dashboard.Approve, Name: "guestbook", Approves: shown.Approves})
	b.Expect(approved.OK).To(BeTrue())
	b.Expect(strings.Join(approved.Lines, "\n")).To(ContainSubstring("Approved by alice at "))
	b.Expect(a.stamps()).To(Equal([]stamp{{Step: 3, Of: guestbook.NewCommit, By: "alice"}}))
	b.Expect(b.act(dashboard.Action{Verb: dashboard.Refresh, Name: "engineering-qa-guestbook"}).OK).To(BeTrue())
	app, err := a.App(a.ctx, "qa")
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(app.Annotations).To(HaveKeyWithValue("argocd.argoproj.io/refresh", "normal"))
}

// TestTheDashboardOffersWhatOneMay: somebody who only reads.
func TestTheDashboardOffersWhatOneMay(t *testing.T) {
	a := newApprovals(t)
	a.allow("reader", "get", "list", "watch")
	b := a.dashboard("--as", "reader")
	b.Expect(b.detail().Rights).To(Equal(dashboard.Rights{}))
	refused := b.act(dashboard.Action{Verb: dashboard.Pause, Name: "guestbook"})
	b.Expect(refused.OK).To(BeFalse())
	b.Expect(strings.Join(refused.Lines, "\n")).To(ContainSubstring(`User "reader" cannot patch resource "applicationsets"`))
	b.Expect(a.annotated()).NotTo(HaveKey(settings.PauseAnnotation))
	answered := a.ask("dashboard", "--port", "0", "--no-browser", "--as", "stranger")
	b.Expect(answered.code).To(Equal(2))
	b.Expect(answered.err).To(
		ContainSubstring("you may not watch applicationsets.argoproj.io in namespace " + a.namespace),
	)
}

// TestTheTokenIsInNoProcessList: whoever reads the arguments of all processes, and the variables, finds a file there that
// he may not read. xdg-open is a script that does not end before the test does, as some browsers do not.
func TestTheTokenIsInNoProcessList(t *testing.T) {
	r := newRollout(t)
	home, programs := t.TempDir(), t.TempDir()
	opener := filepath.Join(programs, "xdg-open")
	script := "#!/bin/sh\necho \"$1\" > $0.new; mv $0.new $0.opened; while [ -e $0 ]; do sleep 0.2; done\n"
	r.Expect(os.WriteFile(opener, []byte(script), 0o700)).To(Succeed())
	b := r.dashboardWith([]string{"HOME=" + home, "PATH=" + programs + ":" + os.Getenv("PATH")})
	var opened []byte
	r.Eventually(func() (err error) { opened, err = os.ReadFile(opener + ".opened"); return err }).Should(Succeed())
	address := strings.TrimSpace(string(opened))
	seen, err := process.Showing(address)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(seen).NotTo(BeEmpty(), "xdg-open has what it opens among its arguments")
	seen, err = process.Showing(b.token)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(seen).To(BeEmpty())

	file := strings.TrimPrefix(address, "file://")
	r.Expect(file).To(HavePrefix(home + "/stepgate-dashboard-"))
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		info, err := os.Stat(path)
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(info.Mode().Perm()).To(Equal(want), path)
	}
	text, err := os.ReadFile(file)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(string(text)).To(ContainSubstring(`content="0; url=` + b.address + "/#token=" + b.token + `"`))

	var all dashboard.Overview
	b.get("/api/overview", &all)
	r.Expect(all.Rows).To(HaveLen(1))
	r.Expect(os.ReadDir(home)).To(BeEmpty(), "the browser is there")
}
