// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestPrintable keeps what people can read, and shows the rest.
func TestPrintable(t *testing.T) {
	const most = 30
	for name, tc := range map[string]struct{ text, want string }{
		"ASCII":                      {"a ~!", "a ~!"},
		"letters of any script":      {"größer 本番 прод ✅ é", "größer 本番 прод ✅ é"},
		"control characters":         {"a\x1b[2J\r\nb\x7f", "a?[2J??b?"},
		"no UTF-8":                   {"a\xffb", "a?b"},
		"another direction":          {"a\u202egpj.b\u2066", "a[U+202E]gpj.b[U+2066]"},
		"no width":                   {"a\u200bb\u00ad\ufeff", "a[U+200B]b[U+00AD][U+FEFF]"},
		"letters that nobody sees":   {"a\u3164\u034f\ufe01", "a[U+3164][U+034F][U+FE01]"},
		"other spaces":               {"a\u00a0b\u3000c", "a b c"},
		"other ends of a line":       {"a\u2028b\u0085", "a[U+2028]b[U+0085]"},
		"tags":                       {"a\U000e0041", "a[U+E0041]"},
		"as long as it may be":       {strings.Repeat("ü", most), strings.Repeat("ü", most)},
		"cut between two characters": {strings.Repeat("ü", most+1), strings.Repeat("ü", most-3) + "..."},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(Printable(tc.text, most)).To(Equal(tc.want)) })
	}
}
