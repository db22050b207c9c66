// SPDX-License-Identifier: Apache-2.0

// Package checkout finds the checkout of stepgate that the suites run in.
package checkout

import (
	"errors"
	"os"
	"path/filepath"
)

// Root is the root of the repository: the nearest folder with a go.mod, from the working folder upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("this is not a checkout of stepgate: no go.mod in this folder or above")
		}
		dir = parent
	}
}

// Absolute makes a path absolute; a relative one begins at the root. An empty path stays empty.
func Absolute(path *string) error {
	if *path == "" || filepath.IsAbs(*path) {
		return nil
	}
	root, err := Root()
	*path = filepath.Join(root, *path)
	return err
}
