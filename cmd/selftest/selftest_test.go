// SPDX-License-Identifier: Apache-2.0

package selftest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/cmd/selftest"
)

// The end of the time cuts the last sync off: the reason is what the API server said of the sync before it.
func TestTheReasonIsNotTheEndOfTheTime(t *testing.T) {
	g := NewWithT(t)
	const failure = `failed calling webhook "validate.stepgate.io": context deadline exceeded`
	var stored []byte
	var syncs atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		refuse := func(code int, reason, message string) {
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q,"message":%q}`,
				code, reason, message)
		}
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/applications"):
			if syncs.Add(1) > 1 {
				_, _ = io.Copy(io.Discard, r.Body) // until then a server does not notice that a client has left
				<-r.Context().Done()
			}
			refuse(http.StatusInternalServerError, "InternalError", failure)
		case r.Method == http.MethodPost:
			stored, _ = io.ReadAll(r.Body)
			_, _ = w.Write(stored)
		case r.Method == http.MethodPatch:
			_, _ = w.Write(stored)
		default:
			refuse(http.StatusNotFound, "NotFound", "not found")
		}
	}))
	defer server.Close()
	err := (&selftest.SelfTest{Namespace: "argocd", Name: "test", Timeout: 3 * time.Second, Out: io.Discard}).
		Run(t.Context(), &rest.Config{Host: server.URL})
	g.Expect(err).To(MatchError(And(ContainSubstring("not passed within 3s"), ContainSubstring(failure))))
	g.Expect(syncs.Load()).To(BeNumerically(">", 1))
}
