// SPDX-License-Identifier: Apache-2.0

// Command release completes the folder of a release: the notes, from the changelog; the checksums of all files; and the
// provenance, which says from which commit they and the images were built. It is not signed: GitHub's identity signs that
// of a real release.
//
//	go run ./test/release -dir DIR -version v1.2.3 -commit COMMIT
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	notesFile      = "notes.md"
	checksumsFile  = "checksums.txt"
	provenanceFile = "provenance.intoto.json"
	source         = "https://github.com/stepgate/stepgate"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is a folder with the files of a release.
type release struct{ dir, version, commit string }

func run(args []string) error {
	var r release
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.StringVar(&r.dir, "dir", "", "the `folder` of the release")
	f.StringVar(&r.version, "version", "", "the version, such as v1.2.3")
	f.StringVar(&r.commit, "commit", "", "the commit that everything was built from")
	changelog := f.String("changelog", "CHANGELOG.md", "the `file` that the notes are taken from")
	if err := f.Parse(args); err != nil {
		return err
	}
	if r.dir == "" || r.version == "" || r.commit == "" {
		return errors.New("-dir, -version and -commit are needed; see -h")
	}
	text, err := os.ReadFile(*changelog)
	if err != nil {
		return err
	}
	notes, err := notes(string(text), r.version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file(notesFile), []byte(notes), 0o600); err != nil {
		return err
	}
	sums, err := r.sums()
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, s := range sums {
		fmt.Fprintf(&list, "%s  %s\n", s.Digest["sha256"], s.Name)
	}
	if err := os.WriteFile(r.file(checksumsFile), []byte(list.String()), 0o600); err != nil {
		return err
	}
	images, err := r.images()
	if err != nil {
		return err
	}
	statement, err := json.MarshalIndent(r.provenance(append(sums, images...)), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file(provenanceFile), append(statement, '\n'), 0o600)
}

func (r release) file(name string) string { return filepath.Join(r.dir, name) }

// notes are the section of a version in the changelog; before it has one, what is not released yet.
func notes(changelog, version string) (string, error) {
	for _, heading := range []string{"## " + strings.TrimPrefix(version, "v"), "## Unreleased"} {
		_, after, found := strings.Cut("\n"+changelog, "\n"+heading)
		if !found {
			continue
		}
		_, after, _ = strings.Cut(after, "\n") // the date
		text, _, _ := strings.Cut(after, "\n## ")
		if text = strings.TrimSpace(text); text != "" {
			return "# stepgate " + version + "\n\n" + text + "\n", nil
		}
	}
	return "", fmt.Errorf("the changelog has nothing about %s", version)
}

// subject is something that was built, as in-toto names it.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// sums are the files of the folder, except those that tell of the others.
func (r release) sums() ([]subject, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	var all []subject
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == checksumsFile || e.Name() == provenanceFile {
			continue
		}
		content, err := os.ReadFile(r.file(e.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		all = append(all, subject{e.Name(), map[string]string{"sha256": hex.EncodeToString(sum[:])}})
	}
	return all, nil
}

// images are the images, by the digests that `make release-image` has written.
func (r release) images() ([]subject, error) {
	paths, err := filepath.Glob(r.file("*.digest"))
	if err != nil {
		return nil, err
	}
	var all []subject
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sum, valid := strings.CutPrefix(strings.TrimSpace(string(text)), "sha256:")
		if !valid {
			return nil, fmt.Errorf("%s is no digest", path)
		}
		name := "oci:" + strings.TrimSuffix(filepath.Base(path), ".digest")
		all = append(all, subject{name, map[string]string{"sha256": sum}})
	}
	return all, nil
}

// provenance is an in-toto statement with a predicate of SLSA 1.0.
func (r release) provenance(subjects []subject) map[string]any {
	return map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          source + "/blob/main/test/release.mk",
				"externalParameters": map[string]any{"version": r.version},
				"resolvedDependencies": []any{map[string]any{
					"uri": "git+" + source, "digest": map[string]string{"gitCommit": r.commit},
				}},
				"internalParameters": map[string]any{"go": runtime.Version()},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": source + "#make-release-rehearsal"}},
		},
	}
}
