// SPDX-License-Identifier: Apache-2.0

// Package judge judges one write: it decodes the request, reads live what the rule needs, and asks the rule. It records
// nothing and answers nobody; a Verdict is what others word, record and act upon. On an error there is no decision, and
// never an allow in enforce mode.
package judge
