// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// logFilter writes the log of net/http. Clients that connect and go away, such as probes and load balancers, and
// connections that give way to others are logged at debug. The rest is limited in rate, so that no client can fill the log.
type logFilter struct {
	log   logr.Logger
	limit *rate.Limiter
}

// Write logs one line.
func (f logFilter) Write(p []byte) (int, error) {
	line := strings.TrimSpace(string(p))
	gone := strings.Contains(line, "TLS handshake error") &&
		(strings.HasSuffix(line, "EOF") || strings.HasSuffix(line, "connection reset by peer") ||
			strings.HasSuffix(line, net.ErrClosed.Error()))
	log := f.log
	if gone || !f.limit.Allow() {
		log = log.V(1)
	}
	log.Info("HTTP server", "detail", printable(line))
	return len(p), nil
}

// printable makes text of a client safe for a log: one line of printable ASCII, of at most 512 characters before
// escaping.
func printable(s string) string {
	quoted := fmt.Sprintf("%+.512q", s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
