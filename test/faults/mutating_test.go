// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
)

// mutatingTimeout is timeoutSeconds of the mutating webhook of config/enforce.
const mutatingTimeout = 3 * time.Second

// patchFails is the impostor for which the API server fails every operation write, whatever the failurePolicy.
const patchFails = "a patch that fails"

// TestF38_MutatingWebhook has the API server call something else than stepgate as the mutating webhook. No automated
// sync is then admitted, because none is pinned. An early sync is refused and not held. A write waits for the mutating
// webhook for its timeout at most.
func TestF38_MutatingWebhook(t *testing.T) {
	f := begin(t, "F38 the mutating webhook is gone, down, slow, or answers garbage")
	for name, handler := range impostors() {
		f.Log(name)
		restore := f.replaceMutating(handler)
		f.setQuiet(false)
		f.Eventually(func() load.Outcome {
			return f.quiet.Sync(f.ctx)
		}).Should(Equal(load.Failed), "%s: a sync that nobody pins", name)
		held, broken := f.writes.Held(), time.Now()
		for range times(5) {
			for _, degraded := range []bool{false, true} {
				f.setQuiet(degraded)
				if outcome := f.quiet.Sync(f.ctx); outcome != load.Failed && !degraded {
					f.Errorf("%s: %s to a sync that nobody has pinned", name, outcome)
				}
				f.inject(1)
			}
		}
		f.Expect(f.writes.Held()).To(Equal(held), "%s: nobody holds", name)
		if name != patchFails {
			f.Expect(f.writes.Refused(broken)).To(BeNumerically(">=", times(5)), "%s: early syncs are refused", name)
		}
		f.generator.Rollouts()[0].Untouched(f.ctx)
		restored := time.Now()
		restore()
		f.recover()
		f.setQuiet(true)
		f.Eventually(func() int {
			f.quiet.Sync(f.ctx)
			return f.writes.Held()
		}).Should(BeNumerically(">", held), "%s: early syncs are held again", name)
		f.note("%s: all was well %s after it was over", name, time.Since(restored).Round(time.Millisecond))
	}
}

// impostors answer in the place of the mutating webhook; nil means that there is no configuration.
func impostors() map[string]http.HandlerFunc {
	text := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	all := map[string]http.HandlerFunc{
		"no configuration": nil,
		"no connection": func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		},
		"500": text(http.StatusInternalServerError, "stepgate failed"),
		"404": text(http.StatusNotFound, "404 page not found"),
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(2 * mutatingTimeout):
			}
		},
		"no JSON":            text(http.StatusOK, "<html>"),
		"half a review":      text(http.StatusOK, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionRev`),
		"an empty answer":    text(http.StatusOK, ""),
		"another request":    text(http.StatusOK, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"1","allowed":true}}`),
		"nothing to change":  reviewed(nil),
		"a patch of nothing": reviewed([]byte("[]")),
		"no patch":           reviewed([]byte(`{"op":"add"}`)),
		patchFails:           reviewed([]byte(`[{"op":"replace","path":"/operation/none/at/all","value":1}]`)),
	}
	if testing.Short() {
		for _, long := range []string{"404", "half a review", "an empty answer", "another request", "a patch of nothing",
			"no patch"} {
			delete(all, long)
		}
	}
	return all
}

// reviewed answers with a patch.
func reviewed(patch []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: patch}
		if patch != nil {
			review.Response.PatchType = &kind
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}
}

// replaceMutating has the API server call a handler, or nobody, as the mutating webhook, until restore.
func (f *trial) replaceMutating(handler http.HandlerFunc) (restore func()) {
	f.Helper()
	configuration, err := installed.Mutating(f.ctx, f.Environment, f.release.Name())
	f.Expect(err).NotTo(HaveOccurred())
	if handler == nil {
		f.Expect(configuration.Delete(f.ctx, f.Environment)).To(Succeed())
		return func() { f.Expect(configuration.Create(f.ctx, f.Environment)).To(Succeed()) }
	}
	certificate, key, err := cluster.SelfSigned("impostor", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	f.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(certificate, key)
	f.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	own := *configuration.Webhook.URL
	f.call(server.URL+"/mutate", certificate)
	return func() {
		f.call(own, nil)
		server.Close()
	}
}

// call has the API server call the mutating webhook at a URL, and adds a certificate to the bundle, which stepgate
// keeps.
func (f *trial) call(url string, certificate []byte) {
	f.Helper()
	f.Eventually(func() error {
		configuration, err := installed.Mutating(f.ctx, f.Environment, f.release.Name())
		if err != nil {
			return err
		}
		return configuration.Patch(f.ctx, f.Environment, func(w *admissionregistrationv1.WebhookClientConfig) {
			w.URL, w.CABundle = &url, append(slices.Clone(w.CABundle), certificate...)
		})
	}).Should(Succeed())
}
