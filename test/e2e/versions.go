package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/test/argocd"
)

// versions are those of the flag.
func (o options) versions() ([]string, error) {
	all := strings.Split(o.argocd, ",")
	for _, v := range all {
		if !slices.Contains(argocd.Versions(), v) {
			return nil, fmt.Errorf("--argocd: %q is not one of %s", v, strings.Join(argocd.Versions(), ", "))
		}
	}
	return all, nil
}

// run runs everything with each version of Argo CD in turn, each in a cluster of its own. A version that fails does not end
// the others. Several have their lines with the totals together at the end.
func (o options) run(ctx context.Context) error {
	versions, err := o.versions()
	if err != nil {
		return err
	}
	return inTurn(versions, func(version string) (string, error) {
		one := o
		one.argocd = version
		if o.keep != "" && len(versions) > 1 {
			one.keep = filepath.Join(o.keep, version)
		}
		line, err := one.runOne(ctx)
		return line, errors.Join(err, ctx.Err())
	})
}

// inTurn runs versions until one is interrupted, and prints their lines if there are several.
func inTurn(versions []string, run func(version string) (line string, err error)) error {
	var lines []string
	var problems []error
	for _, version := range versions {
		line, err := run(version)
		if err != nil {
			problems = append(problems, fmt.Errorf("with Argo CD %s: %w", version, err))
		}
		if errors.Is(err, context.Canceled) {
			break
		}
		if line == "" {
			line = fmt.Sprintf("e2e: argocd=%s failed", version)
		} else if err != nil {
			line += " failed"
		}
		lines = append(lines, line)
	}
	if len(versions) > 1 {
		fmt.Printf("\nall versions:\n%s\n", strings.Join(lines, "\n"))
	}
	return errors.Join(problems...)
}
