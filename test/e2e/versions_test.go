// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/checkout"
	"github.com/stepgate/stepgate/test/report"
)

// versions are those of the flag.
func (o options) versions() ([]string, error) {
	all := strings.Split(o.argocd, ",")
	for _, v := range all {
		if !slices.Contains(argocd.Versions(), v) {
			return nil, fmt.Errorf("-argocd: %q is not one of %s", v, strings.Join(argocd.Versions(), ", "))
		}
	}
	return all, nil
}

// part is what a test plays in a cluster. It returns the line with the totals, if it has one.
type part func(ctx context.Context, t *testing.T, o options, s *suite) (line string, err error)

// run plays with each version of Argo CD in turn, each in a cluster of its own with gates in these modes, and writes
// the page about it. A version that fails does not end the others. Several have their lines with the totals together at
// the end. Without a name, there is no page.
func (o options) run(t *testing.T, about report.Suite, modes []mode, play part) {
	if testing.Short() {
		t.Skip("it starts Argo CD: leave -short out")
	}
	versions, err := o.versions()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(checkout.Absolute(&o.keep), checkout.Absolute(&o.recording)); err != nil {
		t.Fatal(err)
	}
	page, err := o.results.Page(about)
	if err != nil {
		t.Fatal(err)
	}
	if about.Name == "" && page.Kept() {
		t.Fatal("it has no results: leave -results out")
	}
	o.out = page.Printer
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = inTurn(o.out, versions, func(version string) (line string, err error) {
		one := o
		one.argocd = version
		if o.keep != "" && len(versions) > 1 {
			one.keep = filepath.Join(o.keep, version)
		}
		if about.Name != "" {
			o.out.Line("\n## Argo CD %s\n", version)
		}
		t.Run(version, func(t *testing.T) {
			if line, err = one.runOne(ctx, t, modes, play); err != nil && !t.Failed() {
				t.Error(err)
			}
		})
		return line, errors.Join(err, ctx.Err())
	})
	if err := page.Close(err); err != nil {
		t.Error(err)
	}
}

// runOne plays with one version of Argo CD.
func (o options) runOne(ctx context.Context, t *testing.T, modes []mode, play part) (line string, err error) {
	began := time.Now()
	fmt.Printf("starting etcd, kube-apiserver, Argo CD %s and stepgate (about half a minute)\n", o.argocd)
	s, err := start(ctx, o, modes)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	fmt.Printf("all up after %.0fs\n", time.Since(began).Seconds())
	if o.keep != "" {
		defer func() { err = errors.Join(err, s.keep(o.keep)) }()
	}
	return play(ctx, t, o, s)
}

// inTurn runs versions until one is interrupted, and prints their lines if there are several.
func inTurn(out *report.Printer, versions []string, run func(version string) (line string, err error)) error {
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
			line = fmt.Sprintf("argocd=%s failed", version)
		} else if err != nil {
			line += " failed"
		}
		lines = append(lines, line)
	}
	if len(versions) > 1 {
		out.Line("\n## All versions\n\n%s", strings.Join(lines, "\n"))
	}
	return errors.Join(problems...)
}
