// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// ErrUnknown says that a text depends on something that cannot be known offline.
var ErrUnknown = errors.New("not known offline")

// Text renders a text of a template with parameters that are open, as far as the result cannot differ from the one that
// Argo CD gets. The error is ErrUnknown if it can, and Argo CD's own if the text is no template.
func Text(set *argo.ApplicationSet, text string, p Params) (string, error) {
	if set.Spec.GoTemplate {
		return renderGo(text, set.Spec.GoTemplateOptions, p)
	}
	return renderPlain(text, p)
}

var (
	isTemplated = regexp.MustCompile(".*{{.*}}.*")
	// isGo tells what stands between {{ and }} in a Go template from the name of a parameter: no generator gives one of
	// these.
	isGo = regexp.MustCompile(`^[.$("]|[|"]|^(if|else|end|range|with|index|printf|default)\b`)
)

// renderPlain fills {{name}}. A name that no generator gives stays as it is. It mirrors Replace of argo-cd v3.5.7,
// applicationset/utils/utils.go; a test compares them.
func renderPlain(text string, p Params) (string, error) {
	if !isTemplated.MatchString(text) {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		tag, after, found := strings.Cut(rest, "}}")
		if !found {
			return "", errors.New("a template has {{ without }}")
		}
		name := strings.TrimSpace(tag)
		value, known := p.Values[name].(string)
		switch {
		case known && name != "":
			b.WriteString(value)
		case isGo.MatchString(name):
			b.WriteString("{{" + tag + "}}")
		default:
			return "", ErrUnknown
		}
		text = after
	}
}

// simple are the functions of templates that lint knows: some that text/template has itself, and some of sprig that are
// one function of the standard library.
var simple = template.FuncMap{
	"lower": strings.ToLower, "upper": strings.ToUpper, "trim": strings.TrimSpace,
	"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
	"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
	"default": func(fallback any, given ...any) any {
		if len(given) == 0 || isFalse(given[0]) {
			return fallback
		}
		return given[0]
	},
}

func isFalse(value any) bool {
	truth, ok := template.IsTrue(value)
	return !ok || !truth
}

// renderGo renders a Go template that uses nothing but parameters, conditions and simple functions.
func renderGo(text string, options []string, p Params) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	// Argo CD's functions are known to its renderer only.
	_, err := (&utils.Render{}).Replace(text, nil, true, nil)
	if err != nil && strings.Contains(err.Error(), "parse template") {
		return "", err
	}
	t := template.New("").Funcs(simple)
	for _, option := range options {
		if !isMissingKey(option) {
			return "", ErrUnknown
		}
	}
	t, err = t.Option("missingkey=error").Parse(text)
	if err != nil || t.Tree == nil || len(t.Templates()) > 1 || !isSimple(t.Root) {
		return "", ErrUnknown
	}
	var b bounded
	if err := t.Execute(&b, p.Values); err != nil {
		return "", ErrUnknown
	}
	return b.String(), nil
}

func isMissingKey(option string) bool {
	switch option {
	case "missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error":
		return true
	}
	return false
}

// bounded is a text of at most maxText bytes.
type bounded struct{ strings.Builder }

// maxText bounds a rendered text, in bytes.
const maxText = 1 << 16

var errTooLong = errors.New("too long")

func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > maxText {
		return 0, errTooLong
	}
	return b.Builder.Write(text)
}

var _ io.Writer = (*bounded)(nil)

// isSimple reports whether a node of a template is of a kind whose result cannot differ from the one that Argo CD gets.
// As there may be other parameters, index does not tell whether one is there.
func isSimple(node parse.Node) bool {
	switch node := node.(type) {
	case nil:
		return true
	case *parse.ListNode:
		if node == nil {
			return true
		}
		for _, n := range node.Nodes {
			if !isSimple(n) {
				return false
			}
		}
		return true
	case *parse.ActionNode:
		return isSimple(node.Pipe)
	case *parse.IfNode:
		return isSimple(node.Pipe) && isSimple(node.List) && isSimple(node.ElseList)
	case *parse.PipeNode:
		if node == nil || len(node.Decl) > 0 {
			return false
		}
		for _, command := range node.Cmds {
			for _, arg := range command.Args {
				if !isSimple(arg) {
					return false
				}
			}
		}
		return true
	case *parse.IdentifierNode:
		switch node.Ident {
		case "eq", "ne", "and", "or", "not":
			return true
		}
		return simple[node.Ident] != nil
	case *parse.TextNode, *parse.FieldNode, *parse.StringNode, *parse.NumberNode, *parse.BoolNode, *parse.CommentNode:
		return true
	}
	return false
}

// Unfilled is the first placeholder that is left in a text, or "".
func Unfilled(text string) string {
	_, rest, found := strings.Cut(text, "{{")
	name, _, closed := strings.Cut(rest, "}}")
	if !found || !closed {
		return ""
	}
	return fmt.Sprintf("{{%s}}", name)
}

// IsGo reports whether a placeholder is written for Go templates.
func IsGo(placeholder string) bool {
	return isGo.MatchString(strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(placeholder, "{{"), "}}")))
}
