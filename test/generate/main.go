// SPDX-License-Identifier: Apache-2.0

// Command generate writes the files that follow from others: the kustomize manifests of config/, from the chart; the
// tables of docs/rule.md and the sections of docs/decisions.md, from policy; and the pages of docs/reference/, from the
// code, the chart, and the goldens of the tests. With --check it writes nothing, and fails when a file is not up to date.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	chart  = "charts/stepgate"
	config = "config"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail when something is not up to date")
	helm := flag.String("helm", "bin/helm", "the helm program")
	flag.Parse()
	if err := run(*helm, *check); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(helm string, check bool) error {
	files, err := manifests(helm)
	if err != nil {
		return err
	}
	if files[rulePage], err = rule(); err != nil {
		return err
	}
	if files[decisionsPage], err = decisions(); err != nil {
		return err
	}
	pages, err := references()
	if err != nil {
		return err
	}
	maps.Copy(files, pages)
	files[wirePage] = wireTypes()
	stale, err := staleFiles(files)
	if err != nil {
		return err
	}
	if check {
		return compare(files, stale)
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// staleFiles are the files of config/ and docs/reference/ that are not generated any more.
func staleFiles(files map[string]string) ([]string, error) {
	var stale []string
	for _, folder := range []string{config, reference} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if _, known := files[path]; err == nil && !entry.IsDir() && !known {
				stale = append(stale, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return stale, nil
}

func compare(files map[string]string, stale []string) error {
	var differ []string
	for _, path := range stale {
		differ = append(differ, path+" (should not exist)")
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(path)
		if err != nil || string(text) != files[path] {
			differ = append(differ, path)
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("not up to date: %s; run make generate", strings.Join(differ, ", "))
	}
	return nil
}
