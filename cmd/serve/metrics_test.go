// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
)

func TestMetricsMuxServesProfilesWhenAsked(t *testing.T) {
	g := NewWithT(t)
	code, text := served(metricsMux(prometheus.NewRegistry(), true), "/debug/pprof/")
	g.Expect(code).To(Equal(http.StatusOK))
	g.Expect(text).To(ContainSubstring("goroutine"))
}

func served(handler http.Handler, path string) (code int, text string) {
	rw := httptest.NewRecorder()
	handler.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, path, nil))
	return rw.Code, rw.Body.String()
}
