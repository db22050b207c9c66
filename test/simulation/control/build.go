package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// build builds the simulation in a folder, without a part of the rule where one is given.
func build(dir string, p *part) (program string, err error) {
	program = filepath.Join(dir, "simulate")
	args := []string{"build", "-ldflags=-s -w", "-o", program}
	if p != nil {
		overlay, err := p.overlay(dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.Command("go", append(args, "./test/simulation/cmd")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// overlay writes the file without the part, and the file that has go build read it.
func (p *part) overlay(dir string) (string, error) {
	path, err := filepath.Abs(p.file)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	without := string(text)
	for edit := range slices.Chunk(p.edits, 2) {
		if strings.Count(without, edit[0]) != 1 {
			return "", fmt.Errorf("%s: %q is not there exactly once", p.file, edit[0])
		}
		without = strings.Replace(without, edit[0], edit[1], 1)
	}
	file := filepath.Join(dir, "without.go")
	if err := os.WriteFile(file, []byte(without), 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]map[string]string{"Replace": {path: file}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}
