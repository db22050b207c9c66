// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/cmd/page"
)

// TestTheArchive is the same each time, and has the script that is built.
func TestTheArchive(t *testing.T) {
	g := NewWithT(t)
	packed, err := pack(time.Unix(1, 0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pack(time.Unix(1, 0))).To(Equal(packed))
	r := tar.NewReader(bytes.NewReader(packed))
	first, err := r.Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Name).To(Equal("resources/extension-stepgate.js/extension-stepgate.js"))
	text, err := io.ReadAll(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fs.ReadFile(page.Files, "extension.js")).To(Equal(text))
}

// do sends a request with the session of an account; without one if that is empty.
func do(t *testing.T, account, path string, header map[string]string) (int, string) {
	t.Helper()
	return send(t, account, http.MethodGet, path, header, "")
}

// send is do with a method and a body.
func send(t *testing.T, account, method, path string, header map[string]string, body string) (int, string) {
	t.Helper()
	g := NewWithT(t)
	r, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if account != "" {
		r.AddCookie(&http.Cookie{Name: "argocd.token", Value: login(t, account)})
	}
	response, err := http.DefaultClient.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	text, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	return response.StatusCode, string(text)
}

var sessions = map[string]string{}

// login is the session of an account, as the login page gets one.
func login(t *testing.T, account string) string {
	t.Helper()
	if sessions[account] != "" {
		return sessions[account]
	}
	g := NewWithT(t)
	body, err := json.Marshal(map[string]string{"username": account, "password": passphrase})
	g.Expect(err).NotTo(HaveOccurred())
	response, err := http.Post(server.URL+"/api/v1/session", "application/json", bytes.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	var session struct{ Token string }
	g.Expect(json.NewDecoder(response.Body).Decode(&session)).To(Succeed())
	g.Expect(response.Body.Close()).To(Succeed())
	g.Expect(session.Token).NotTo(BeEmpty(), "%s could not log in", account)
	sessions[account] = session.Token
	return session.Token
}

// of are the headers that the extension sends for an Application.
func of(app, project string) map[string]string {
	return map[string]string{extension.ApplicationHeader: "argocd:" + app, extension.ProjectHeader: project}
}

const prod = "engineering-prod-guestbook"

// TestTheUILoadsTheExtension: argocd-server adds it to what every page loads.
func TestTheUILoadsTheExtension(t *testing.T) {
	g := NewWithT(t)
	script, err := fs.ReadFile(page.Files, "extension.js")
	g.Expect(err).NotTo(HaveOccurred())
	code, text := do(t, "", server.URL+"/extensions.js", nil)
	g.Expect(code).To(Equal(200))
	g.Expect(text).To(ContainSubstring(string(script)))
}

// TestWhoMayAskThroughArgoCD is a table of what Argo CD and stepgate say to whom.
func TestWhoMayAskThroughArgoCD(t *testing.T) {
	for name, tc := range map[string]struct {
		account string
		headers map[string]string
		code    int
		text    string
	}{
		"a viewer":                           {account: "viewer", headers: of(prod, "default"), code: 200, text: `"name":"guestbook"`},
		"nobody":                             {headers: of(prod, "default"), code: 400, text: "Auth cookie not found"},
		"who may not invoke the extension":   {account: "reader", headers: of(prod, "default"), code: 401, text: "Unauthorized extension request"},
		"who may not get the Application":    {account: "blind", headers: of(prod, "default"), code: 401, text: "Unauthorized extension request"},
		"about another project":              {account: "viewer", headers: of("secret", "secret"), code: 401, text: "Unauthorized extension request"},
		"about another project, with a lie":  {account: "viewer", headers: of("secret", "default"), code: 401, text: "Unauthorized extension request"},
		"about no Application":               {account: "viewer", code: 400, text: "Invalid headers"},
		"about one that does not exist":      {account: "viewer", headers: of("nobody", "default"), code: 401, text: "Unauthorized extension request"},
		"about one of no ApplicationSet":     {account: "viewer", headers: of("alone", "default"), code: 403, text: "no ApplicationSet owns the Application alone"},
		"a viewer who sends his own secret":  {account: "viewer", headers: with(of(prod, "default"), extension.TokenHeader, "guessed"), code: 200},
		"a viewer who names himself another": {account: "viewer", headers: with(of(prod, "default"), "Argocd-Username", "admin"), code: 200},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code, text := do(t, tc.account, server.URL+"/extensions/stepgate/api/v1/rollout", tc.headers)
			g.Expect(code).To(Equal(tc.code), text)
			g.Expect(text).To(ContainSubstring(tc.text))
		})
	}
}

func with(headers map[string]string, name, value string) map[string]string {
	headers[name] = value
	return headers
}

// TestTheAnswersThroughArgoCD have the words of the command line.
func TestTheAnswersThroughArgoCD(t *testing.T) {
	g := NewWithT(t)
	shown, err := said(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	var d dashboard.Detail
	ask(t, "rollout", &d)
	g.Expect(d.Said).To(HaveLen(3))
	for name, of := range d.Said {
		g.Expect(shown).To(ContainSubstring(of.Text), name)
	}
	var s extension.Status
	ask(t, "status", &s)
	g.Expect(*s.Said).To(Equal(d.Said[prod]))
	g.Expect(s.Step).To(Equal(3))
	var x dashboard.Explained
	ask(t, "explanation", &x)
	g.Expect(x.Explanation.Blockers).NotTo(BeEmpty())
	g.Expect(x.Verdict).To(Equal(x.Explanation.Verdict()))
	var h dashboard.History
	ask(t, "history", &h)
	g.Expect(h.Problem).To(BeEmpty())
	g.Expect(h.Rollouts).To(HaveLen(12))
}

func ask(t *testing.T, path string, into any) {
	t.Helper()
	g := NewWithT(t)
	code, text := do(t, "viewer", server.URL+"/extensions/stepgate/api/v1/"+path, of(prod, "default"))
	g.Expect(code).To(Equal(200), text)
	g.Expect(json.Unmarshal([]byte(text), into)).To(Succeed())
}

// TestPastArgoCD: who reaches the port and does not know the secret gets nothing.
func TestPastArgoCD(t *testing.T) {
	g := NewWithT(t)
	code, text := do(t, "", "http://"+direct+"/api/v1/rollout", of(prod, "default"))
	g.Expect(code).To(Equal(403))
	g.Expect(text).To(ContainSubstring("the header Stepgate-Token is missing"))
	code, _ = do(t, "", "http://"+direct+"/api/v1/rollout", with(of(prod, "default"), extension.TokenHeader, "guessed"))
	g.Expect(code).To(Equal(403))
}
