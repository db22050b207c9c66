// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/policy"
)

const (
	hidden = "***"
	// mostError is how much of an error of a service is logged: it may have a whole page.
	mostError = 500
	// shortest is the length from which on the value of a Secret is looked for in texts.
	shortest = 4
)

// address is a URL with more than a host. Many services have their secret there.
var address = regexp.MustCompile(`(https?://)([^/?#\s"'@]*@)?([^/?#\s"']+)[/?#][^\s"']*`)

// redactor takes the values of a Secret out of a text, and what is behind the host of a URL. The zero value knows no
// values.
type redactor struct{ values []string }

func newRedactor(secret *corev1.Secret) *redactor {
	r := &redactor{}
	for _, raw := range secret.Data {
		value := strings.TrimSpace(string(raw))
		for _, form := range []string{string(raw), value, url.PathEscape(value), url.QueryEscape(value)} {
			if len(form) >= shortest {
				r.values = append(r.values, form)
			}
		}
	}
	// The longest first: one may be a part of another.
	slices.SortFunc(r.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.values = slices.Compact(r.values)
	return r
}

// text is a text for a log or an Event.
func (r *redactor) text(s string) string {
	for _, value := range r.values {
		s = strings.ReplaceAll(s, value, hidden)
	}
	return policy.Printable(address.ReplaceAllString(s, "${1}${3}/"+hidden), mostError)
}
