// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// build builds the simulation in a folder, with an overlay.
func build(dir, overlay string) (program string, err error) {
	program = filepath.Join(dir, "simulate")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "-overlay", overlay,
		"./test/simulation/cmd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// overlay writes the files without the part, and the file that lets go build read them.
func (p *part) overlay(dir string) (string, error) {
	replaced := map[string]string{}
	for i, e := range p.edits {
		path, err := filepath.Abs(e.file)
		if err != nil {
			return "", err
		}
		from := cmp.Or(replaced[path], path)
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		without, err := e.apply(string(text))
		if err != nil {
			return "", err
		}
		replaced[path] = filepath.Join(dir, fmt.Sprintf("without%d.go", i))
		if err := os.WriteFile(replaced[path], []byte(without), 0o600); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// apply takes the part out of the text of a file. Where a space is in the part, the file may break the line.
func (e edit) apply(text string) (string, error) {
	words := strings.Fields(e.old)
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	found := regexp.MustCompile(strings.Join(words, `\s+`)).FindAllStringIndex(text, -1)
	if len(found) != 1 {
		return "", fmt.Errorf("%s: %q is not there exactly once", e.file, e.old)
	}
	return text[:found[0][0]] + e.now + text[found[0][1]:], nil
}
