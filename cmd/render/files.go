// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/util/glob"
)

// maxFile bounds a file.
const maxFile = 64 << 20

// Stdin is the name of standard input, among files.
const Stdin = "-"

// StdinName is what findings call it.
const StdinName = "stdin"

// File reads a file, or standard input, or the *.yaml, *.yml and *.json files of a directory and of those below it.
// Hidden directories are left out, and what Exclude names.
func (r *Reader) File(name string, stdin io.Reader) {
	if name == Stdin {
		r.read(StdinName, stdin)
		return
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		r.fail(name, err)
	case info.IsDir():
		r.directory(name)
	default:
		r.open(name)
	}
}

func (r *Reader) directory(root string) {
	found := false
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			r.fail(name, err)
		case entry.IsDir() && name != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case name != root && r.excluded(root, name):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			found = true
			r.open(name)
		}
		return nil
	})
	if err != nil {
		r.fail(root, err)
	}
	if !found {
		r.fail(root, errors.New("the directory has no *.yaml, *.yml or *.json file"))
	}
}

// excluded reports whether a pattern of Exclude names a file or folder in a directory.
func (r *Reader) excluded(root, name string) bool {
	relative, err := filepath.Rel(root, name)
	return err == nil && slices.ContainsFunc(r.Exclude, func(pattern string) bool {
		return glob.Match(pattern, filepath.ToSlash(relative)) || glob.Match(pattern, filepath.Base(name))
	})
}

func (r *Reader) open(name string) {
	file, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		r.fail(name, err)
		return
	}
	r.read(name, file)
	_ = file.Close() // it was only read
}

func (r *Reader) read(name string, from io.Reader) {
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		r.fail(name, err)
	case len(data) > maxFile:
		r.fail(name, fmt.Errorf("the file is larger than %d MiB", maxFile>>20))
	default:
		r.Text(filepath.ToSlash(filepath.Clean(name)), data)
	}
}

func (r *Reader) fail(name string, err error) {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	r.Failures = append(r.Failures, Failure{File: filepath.ToSlash(filepath.Clean(name)), Message: err.Error()})
}
