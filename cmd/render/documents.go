// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one document of a file.
type document struct {
	// number is 1-based, and line is the number of lines before it.
	number, line int
	text         []byte
}

// documents splits a file: YAML at lines that begin with ---, and JSON after each object. Documents without content are
// left out.
func documents(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if all, ok := jsonDocuments(data); ok {
		return all
	}
	var all []document
	start, from, line := 0, 0, 0
	add := func(end int) {
		if text := data[from:end]; hasContent(text) {
			all = append(all, document{number: len(all) + 1, line: start, text: text})
		}
	}
	for at := 0; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if rest, ok := bytes.CutPrefix(data[at:end], []byte("---")); ok &&
			(len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
			add(at)
			start, from = line, at
		}
		at = end
	}
	add(len(data))
	return all
}

// hasContent reports whether a text is more than empty lines, comments and separators.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		rest, separator := bytes.CutPrefix(line, []byte("---"))
		if separator {
			line = bytes.TrimSpace(rest)
		}
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("...")) {
			return true
		}
	}
	return false
}

// jsonDocuments splits objects that follow each other. It reports false for a text that is not JSON. Tabs, which can
// only be between the parts of an object, become spaces, because YAML does not allow them.
func jsonDocuments(data []byte) (all []document, ok bool) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all, true
		}
		if err != nil {
			return nil, false
		}
		before := data[:decoder.InputOffset()-int64(len(raw))]
		all = append(all, document{
			number: len(all) + 1, line: bytes.Count(before, []byte("\n")),
			text: bytes.ReplaceAll(raw, []byte("\t"), []byte(" ")),
		})
	}
}

// tree parses a document. The lines of its nodes are those of the file.
func (d document) tree(file string) (*yaml.Node, *Failure) {
	var node yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(d.text))
	err := decoder.Decode(&node)
	if errors.Is(err, io.EOF) {
		return &yaml.Node{}, nil
	}
	if err == nil {
		if more := decoder.Decode(new(yaml.Node)); more == nil {
			err = errors.New("another document begins without a line ---")
		}
	}
	if err != nil {
		return nil, d.failure(file, err)
	}
	root := &node
	if node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		root = node.Content[0]
	}
	shift(root, d.line)
	return root, nil
}

func shift(node *yaml.Node, lines int) {
	node.Line += lines
	for _, c := range node.Content {
		shift(c, lines)
	}
}

var (
	lineOf = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)
	tabbed = regexp.MustCompile(`(?m)^ *\t`)
)

// failure says why a document cannot be read, and where.
func (d document) failure(file string, err error) *Failure {
	f := &Failure{
		File: file, Document: d.number, Message: strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "),
	}
	if m := lineOf.FindStringSubmatch(f.Message); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			f.Line = d.line + line
		}
		f.Message = f.Message[len(m[0]):]
	}
	f.Message = fmt.Sprintf("not valid YAML: %.200s", strings.TrimPrefix(f.Message, "yaml: "))
	helm, tab := HelmMark(d.text), tabbed.FindIndex(d.text)
	switch {
	case helm >= 0:
		f.Line = d.lineAt(helm)
		f.Message = fmt.Sprintf("a Helm template, and not YAML (%s): render it first, with helm template, and give "+
			"the output", strings.TrimPrefix(f.Message, "not valid YAML: "))
	case tab != nil && strings.Contains(f.Message, "cannot start any token"):
		f.Line = d.lineAt(tab[0])
		f.Message = "not valid YAML: the line begins with a tab; indent it with spaces"
	}
	return f
}

// lineAt is the line of the file that has a byte of the document.
func (d document) lineAt(at int) int { return d.line + 1 + bytes.Count(d.text[:at], []byte("\n")) }

// twice says which field an object has twice; nil if none. The API server would take the last one, silently.
func (d document) twice(file string, node *yaml.Node) *Failure {
	if node.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind == yaml.ScalarNode && key.Value != "<<" && seen[key.Value] {
				return &Failure{
					File: file, Document: d.number, Line: key.Line, Message: fmt.Sprintf("the field %.80q is here twice, and the "+
						"API server takes the last one: remove the other, or see whether a dash is missing", key.Value),
				}
			}
			seen[key.Value] = true
		}
	}
	for _, c := range node.Content {
		if f := d.twice(file, c); f != nil {
			return f
		}
	}
	return nil
}
