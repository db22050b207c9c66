// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"regexp"
	"slices"
	"strings"

	argoglob "github.com/argoproj/argo-cd/v3/util/glob"
	"github.com/gobwas/glob"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/cmd/command"
)

// Namespaces are those that hold Applications: names, and patterns as Argo CD has them in its own
// --application-namespaces, which are shell globs and regular expressions between slashes. None means all.
type Namespaces []string

func (n Namespaces) validate() error {
	for i, text := range n {
		if slices.Contains(n[:i], text) {
			return command.Usage("--application-namespaces: %q is given twice", text)
		}
		var err error
		switch {
		case isRegexp(text): // of RE2, as the API server has them in the webhook's condition
			_, err = regexp.Compile(text[1 : len(text)-1])
		case isPattern(text):
			_, err = glob.Compile(text)
		case len(validation.IsDNS1123Label(text)) > 0:
			return command.Usage(
				"--application-namespaces: %q is not the name of a namespace; a pattern is a glob like team-*, or a regular "+
					"expression like /^team-[a-z]+$/", text,
			)
		}
		if err != nil {
			return command.Usage("--application-namespaces: %q: %v", text, err)
		}
	}
	return nil
}

func isRegexp(text string) bool {
	return len(text) > 2 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/")
}

func isPattern(text string) bool { return isRegexp(text) || strings.ContainsAny(text, "*?[") }

// Watched are the namespaces to watch: those that are named, or all if there is a pattern, because nobody knows which
// ones will exist.
func (n Namespaces) Watched() []string {
	if len(n) == 0 || slices.ContainsFunc(n, isPattern) {
		return []string{metav1.NamespaceAll}
	}
	return n
}

// Gated reports whether a namespace is one of them.
func (n Namespaces) Gated(name string) bool {
	return len(n) == 0 || argoglob.MatchStringInList(n, name, argoglob.REGEXP)
}
