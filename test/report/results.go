// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/stepgate/stepgate/test/checkout"
)

// Results is the folder that a suite writes its results to, from the flag --results. Without the flag, nothing is
// written.
type Results struct{ folder string }

// Flag adds the flag to flags.
func Flag(flags *flag.FlagSet) *Results {
	r := &Results{}
	flags.StringVar(&r.folder, "results", "",
		"`folder` to write the results to, as a page; a relative path begins at the root of the checkout")
	return r
}

// Check returns an error unless pages can be written. Call it before the suite does anything that takes long.
func (r *Results) Check() error {
	_, _, err := r.find()
	return err
}

// find returns the root of the checkout and the folder. Both are empty without the flag.
func (r *Results) find() (root, folder string, err error) {
	if r.folder == "" {
		return "", "", nil
	}
	if root, err = checkout.Root(); err != nil {
		return "", "", err
	}
	folder = r.folder
	if err := checkout.Absolute(&folder); err != nil {
		return "", "", err
	}
	file, err := os.CreateTemp(folder, temporary)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", fmt.Errorf("--results: there is no folder %s", folder)
	}
	if err != nil {
		return "", "", fmt.Errorf("--results: %w", err)
	}
	return root, folder, errors.Join(file.Close(), os.Remove(file.Name()))
}
