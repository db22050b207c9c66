package lint

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
)

// engine renders the templates of one ApplicationSet, as far as that is possible offline and without doubt.
type engine struct {
	goTemplate bool
	options    []string
	// unknownKinds are the kinds of generators that cannot be known offline.
	unknownKinds map[string]bool
}

// maxText bounds a rendered text.
const maxText = 1 << 16

// render renders a text with parameters. The error is errUnknown when the result cannot be known, and a brokenGenerator
// when Argo CD fails, too.
//
// It mirrors Replace of argo-cd v3.5.7, applicationset/utils/utils.go; a test compares them.
func (e *engine) render(text string, p params) (string, error) {
	if e.goTemplate {
		return e.renderGo(text, p)
	}
	return renderPlain(text, p)
}

var isTemplated = regexp.MustCompile(".*{{.*}}.*")

// renderPlain fills {{name}}. A name that is not known stays as it is.
func renderPlain(text string, p params) (string, error) {
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
			return "", broken("a template has {{ without }}")
		}
		name := strings.TrimSpace(tag)
		value, known := p.values[name].(string)
		switch {
		case known && name != "":
			b.WriteString(value)
		case p.open:
			return "", errUnknown
		default:
			b.WriteString("{{" + tag + "}}")
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
func (e *engine) renderGo(text string, p params) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t := template.New("").Funcs(simple)
	for _, option := range e.options {
		if !isMissingKey(option) {
			return "", errUnknown
		}
		t = t.Option(option)
	}
	if p.open {
		t = t.Option("missingkey=error")
	}
	t, err := t.Parse(text)
	if err != nil || t.Tree == nil || len(t.Templates()) > 1 || !isSimple(t.Root, p.open) {
		return "", errUnknown
	}
	var b bounded
	switch err := t.Execute(&b, p.values); {
	case err == nil:
		return b.String(), nil
	case !p.open && strings.Contains(err.Error(), "map has no entry for key"):
		return "", broken("the template %q fails: no generator gives a parameter that it uses", short(text))
	}
	return "", errUnknown
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

var errTooLong = errors.New("too long")

func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > maxText {
		return 0, errTooLong
	}
	return b.Builder.Write(text)
}

var _ io.Writer = (*bounded)(nil)

// isSimple reports whether a node of a template is of a kind whose result cannot differ from the one that Argo CD gets.
// open says that there may be other parameters: index then does not tell whether one is there.
func isSimple(node parse.Node, open bool) bool {
	switch node := node.(type) {
	case nil:
		return true
	case *parse.ListNode:
		if node == nil {
			return true
		}
		for _, n := range node.Nodes {
			if !isSimple(n, open) {
				return false
			}
		}
		return true
	case *parse.ActionNode:
		return isSimple(node.Pipe, open)
	case *parse.IfNode:
		return isSimple(node.Pipe, open) && isSimple(node.List, open) && isSimple(node.ElseList, open)
	case *parse.PipeNode:
		if node == nil || len(node.Decl) > 0 {
			return false
		}
		for _, command := range node.Cmds {
			for _, arg := range command.Args {
				if !isSimple(arg, open) {
					return false
				}
			}
		}
		return true
	case *parse.IdentifierNode:
		switch node.Ident {
		case "index":
			return !open
		case "eq", "ne", "and", "or", "not":
			return true
		}
		return simple[node.Ident] != nil
	case *parse.TextNode, *parse.FieldNode, *parse.StringNode, *parse.NumberNode, *parse.BoolNode, *parse.CommentNode:
		return true
	}
	return false
}

// unfilled is the first placeholder that is left in a text, or "".
func unfilled(text string) string {
	_, rest, found := strings.Cut(text, "{{")
	name, _, closed := strings.Cut(rest, "}}")
	if !found || !closed {
		return ""
	}
	return fmt.Sprintf("{{%s}}", name)
}
