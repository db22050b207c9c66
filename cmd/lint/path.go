// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Path leads to a part of an object: names of fields and numbers of entries.
type Path []any

// to is a path from the root of an object.
func to(parts ...any) Path { return parts }

// and is the path to a part of what p leads to.
func (p Path) and(parts ...any) Path {
	return append(append(make(Path, 0, len(p)+len(parts)), p...), parts...)
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// String is the path as people write it: spec.strategy.rollingSync.steps[1].matchExpressions[0].operator.
func (p Path) String() string {
	var b strings.Builder
	for _, part := range p {
		switch part := part.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", part)
		case string:
			switch {
			case !plainKey.MatchString(part):
				fmt.Fprintf(&b, "[%q]", part)
			case b.Len() > 0:
				b.WriteString("." + part)
			default:
				b.WriteString(part)
			}
		}
	}
	return b.String()
}

// position is where in a text the deepest part begins that is there; a field begins with its name. It is zero when
// there is no text.
func (p Path) position(node *yaml.Node) (line, column int) {
	if node == nil {
		return 0, 0
	}
	line, column = node.Line, node.Column
	for _, part := range p {
		if node.Kind == yaml.AliasNode && node.Alias != nil {
			node = node.Alias
		}
		key, next := child(node, part)
		if next == nil {
			return line, column
		}
		line, column, node = key.Line, key.Column, next
	}
	return line, column
}

// child finds a field or an entry, and the node where it begins.
func child(node *yaml.Node, part any) (key, value *yaml.Node) {
	switch part := part.(type) {
	case string:
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == part {
				return node.Content[i], node.Content[i+1]
			}
		}
	case int:
		if node.Kind == yaml.SequenceNode && part >= 0 && part < len(node.Content) {
			return node.Content[part], node.Content[part]
		}
	}
	return nil, nil
}

// textIn is the path of the longest template that an error of Argo CD's renderer quotes; nil if there is none.
func textIn(node *yaml.Node, message string) Path {
	var found Path
	longest := 0
	var look func(node *yaml.Node, at Path)
	look = func(node *yaml.Node, at Path) {
		switch {
		case node == nil:
		case node.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				look(node.Content[i+1], at.and(node.Content[i].Value))
			}
		case node.Kind == yaml.SequenceNode:
			for i, entry := range node.Content {
				look(entry, at.and(i))
			}
		case node.Kind == yaml.ScalarNode:
			if text := node.Value; len(text) > longest && strings.Contains(text, "{{") && strings.Contains(message, text) {
				found, longest = at, len(text)
			}
		}
	}
	look(node, nil)
	return found
}

// parsePath reads a path that the decoder has written: spec.strategy.rollingSync.steps[0].maxUpdates.
func parsePath(text string) Path {
	var p Path
	for part := range strings.SplitSeq(text, ".") {
		name, rest, _ := strings.Cut(part, "[")
		p = append(p, name)
		for rest != "" {
			var index string
			index, rest, _ = strings.Cut(rest, "]")
			if i, err := strconv.Atoi(index); err == nil {
				p = append(p, i)
			}
			rest = strings.TrimPrefix(rest, "[")
		}
	}
	return p
}
