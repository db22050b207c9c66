package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build builds the simulation in a folder, with an overlay.
func build(dir, overlay string) (program string, err error) {
	program = filepath.Join(dir, "simulate")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "-overlay", overlay, "./test/simulation/cmd").CombinedOutput()
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
		if strings.Count(string(text), e.old) != 1 {
			return "", fmt.Errorf("%s: %q is not there exactly once", e.file, e.old)
		}
		replaced[path] = filepath.Join(dir, fmt.Sprintf("without%d.go", i))
		if err := os.WriteFile(replaced[path], []byte(strings.Replace(string(text), e.old, e.now, 1)), 0o600); err != nil {
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
