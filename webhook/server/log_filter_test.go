// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"
)

func TestLogFilter(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"a probe that goes away":       {"http: TLS handshake error from 10.0.0.1:5000: EOF\n", ""},
		"a probe that resets":          {"http: TLS handshake error from 10.0.0.1:5000: read tcp 10.0.0.2:10250->10.0.0.1:5000: read: connection reset by peer\n", ""},
		"a connection that gave way":   {"http: TLS handshake error from 10.0.0.1:5000: read tcp 10.0.0.2:10250->10.0.0.1:5000: use of closed network connection\n", ""},
		"a caller that does not trust": {"http: TLS handshake error from 10.0.0.1:5000: remote error: tls: bad certificate\n", `"level"=0 "msg"="HTTP server" "detail"="http: TLS handshake error from 10.0.0.1:5000: remote error: tls: bad certificate"`},
		"a hostile server name":        {"http: TLS handshake error from 10.0.0.1:5000: unknown name \"x\ny\x1b[2K\u202e\xff\"\n", `"level"=0 "msg"="HTTP server" "detail"="http: TLS handshake error from 10.0.0.1:5000: unknown name \"x\\ny\\x1b[2K\\u202e\\xff\""`},
		"another end of file":          {"http: proxy error: EOF\n", `"level"=0 "msg"="HTTP server" "detail"="http: proxy error: EOF"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			logged := ""
			log := funcr.New(func(_, args string) { logged += args }, funcr.Options{})
			n, err := logFilter{log: log, limit: rate.NewLimiter(rate.Inf, 1)}.Write([]byte(tc.line))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(n).To(Equal(len(tc.line)))
			g.Expect(logged).To(Equal(tc.want))
		})
	}
}

func TestLogFilterLimitsTheRate(t *testing.T) {
	g := NewWithT(t)
	lines := 0
	filter := logFilter{log: funcr.New(func(_, _ string) { lines++ }, funcr.Options{}), limit: rate.NewLimiter(0, 10)}
	for range 1000 {
		_, err := filter.Write(
			[]byte("http: TLS handshake error from 10.0.0.1:5000: tls: first record does not look like a TLS handshake"),
		)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(lines).To(Equal(10))
}

func TestPrintable(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"printable ASCII stays":           {"system:serviceaccount:argocd:argocd-server", "system:serviceaccount:argocd:argocd-server"},
		"quotes stay":                     {`duplicate field "kind"`, `duplicate field "kind"`},
		"a new line":                      {"a\nb", `a\nb`},
		"a terminal's escape and a NUL":   {"\x1b[2K\x00", `\x1b[2K\x00`},
		"a right-to-left override":        {"\u202e", `\u202e`},
		"bytes that are no UTF-8":         {"\xff", `\xff`},
		"a backslash cannot fake another": {`a\n`, `a\\n`},
		"a long text is cut":              {strings.Repeat("x", 1<<20), strings.Repeat("x", 512)},
		"nothing":                         {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(printable(tc.text)).To(Equal(tc.want))
		})
	}
}
