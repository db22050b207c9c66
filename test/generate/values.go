// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// longest is the longest default that fits in a table.
const longest = 60

// valueTable is the table of the chart's values.
func valueTable() (string, error) {
	rows, err := valueRows(filepath.Join(chart, "values.yaml"), filepath.Join(chart, "values.schema.json"))
	return "| value | type | default | |\n|---|---|---|---|\n" + strings.Join(rows, ""), err
}

// valueRows are the rows of the table. Every value needs a comment, "# -- text"; a mapping with one is a single value.
// The schema has the types.
func valueRows(path, schemaPath string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	schemaText, err := os.ReadFile(schemaPath)
	if err != nil {
		return nil, err
	}
	var types schema
	if err := json.Unmarshal(schemaText, &types); err != nil {
		return nil, fmt.Errorf("%s: %w", schemaPath, err)
	}
	return rowsOf(document.Content[0], types, "")
}

// schema is the part of a JSON schema that says what a value may be.
type schema struct {
	Type       any
	Enum       []any
	Items      *schema
	Properties map[string]schema
}

// text is the type in words.
func (s schema) text() string {
	var choices []string
	for _, choice := range s.Enum {
		if text, ok := choice.(string); ok && text != "" {
			choices = append(choices, "`"+text+"`")
		}
	}
	if len(choices) > 0 {
		return strings.Join(choices, ", ")
	}
	types, isList := s.Type.([]any)
	if !isList {
		types = []any{s.Type}
	}
	var words []string
	for _, t := range types {
		word := fmt.Sprint(t)
		if word == "array" {
			word = "list"
			if len(s.Items.Enum) == 0 {
				word += " of " + strings.ReplaceAll(s.Items.text(), " or ", "s or ") + "s"
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " or ")
}

func rowsOf(mapping *yaml.Node, types schema, prefix string) ([]string, error) {
	var rows []string
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		_, comment, commented := strings.Cut("\n"+key.HeadComment, "\n# -- ")
		own, known := types.Properties[key.Value]
		if !known {
			return nil, fmt.Errorf("the schema does not have the value %s", name)
		}
		switch {
		case commented:
			row, err := rowOf(name, comment, own.text(), value)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
			if name != "global" {
				continue
			}
			fallthrough
		case value.Kind == yaml.MappingNode && len(value.Content) > 0:
			inner, err := rowsOf(value, own, name+".")
			if err != nil {
				return nil, err
			}
			rows = append(rows, inner...)
		default:
			return nil, fmt.Errorf("value %s has no comment (# -- ...)", name)
		}
	}
	return rows, nil
}

func rowOf(name, comment, kind string, value *yaml.Node) (string, error) {
	text, shown, explained := strings.Cut(strings.ReplaceAll(comment, "\n# ", " "), " @default -- ")
	if !explained {
		var decoded any
		if err := value.Decode(&decoded); err != nil {
			return "", err
		}
		encoded, err := json.Marshal(decoded)
		if err != nil {
			return "", err
		}
		if shown = "`" + string(encoded) + "`"; len(encoded) > longest {
			shown = "see values.yaml"
		}
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, kind, strings.ReplaceAll(shown, "|", `\|`),
		strings.ReplaceAll(text, "|", `\|`)), nil
}
