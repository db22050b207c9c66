// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"
)

// TestSlack is a service of the engine: it gets the text, the attachment and the token of the Secret.
func TestSlack(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var got url.Values
	slack := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if err := r.ParseForm(); err != nil || r.URL.Path != "/chat.postMessage" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		got = r.Form
		got.Set("authorization", r.Header.Get("Authorization"))
		_, _ = rw.Write([]byte(`{"ok":true,"channel":"releases","ts":"1.2"}`))
	}))
	t.Cleanup(slack.Close)
	const kind = "slack"
	w.config.Data["service."+kind] = "token: $token\napiURL: " + slack.URL + "/\n"
	w.set.Annotations = map[string]string{
		"notifications.argoproj.io/subscribe.stepgate-on-rollout-complete.slack": "releases",
	}
	w.is(complete)
	w.look(w.new())
	w.Expect(w.counted).To(Equal(map[string]int{"on-rollout-complete slack sent": 1}))
	w.Expect(got.Get("channel")).To(Equal("releases"))
	w.Expect(got.Get("text")).To(HavePrefix("the rollout of argocd/guestbook is complete (at 78de5d3): all 4 "))
	w.Expect(got.Get("attachments")).To(ContainSubstring("`stepgate get guestbook -n argocd`"))
	w.Expect(got.Encode()).To(ContainSubstring(password))
	w.Expect(w.log()).NotTo(ContainSubstring(password))
}

// TestTheEngineIsHeard: what it logs goes into stepgate's log, without secrets, and once.
func TestTheEngineIsHeard(t *testing.T) {
	w := newWorld(t)
	w.is(complete)
	n := w.new()
	w.look(n) // reads the Secret
	log := logr.FromContextOrDiscard(w.ctx())
	h := &heard{n: n, log: log, before: newMemory()}
	for range 2 {
		w.Expect(h.Fire(&logrus.Entry{
			Message: "failed with " + password + " at https://example.com/hook", Level: logrus.ErrorLevel,
		})).To(Succeed())
	}
	w.Expect(w.logged).To(ContainElement(
		ContainSubstring(`"problem"="failed with *** at https://example.com/***" "severity"="error"`)))
	w.Expect(w.logged).To(HaveLen(2), "and that the settings were read")
	w.Expect(h.Levels()).NotTo(ContainElement(logrus.DebugLevel), "there it logs headers")
}
