package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/report"
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

// suite says which page the results are for.
func (o options) suite() (report.Suite, error) {
	p, err := o.plan()
	switch {
	case err != nil:
		return report.Suite{}, err
	case o.size:
		return report.Suite{Name: "e2e-size", Title: "rollouts of many Applications through the real Argo CD, without stepgate and with it, and what they cost"}, nil
	case o.control:
		return report.Suite{Name: "e2e-control", Title: "rollouts through the real Argo CD with parts of stepgate switched off: does the suite notice?"}, nil
	case len(p.ordinary) == 0 && len(p.clusters)+len(p.outages) > 0:
		return report.Suite{Name: "e2e-clusters", Title: "rollouts over two clusters, through the real Argo CD"}, nil
	}
	return report.Suite{Name: "e2e", Title: "rollouts through the real Argo CD, without stepgate and with it: does something start out of order?"}, nil
}

// run runs everything with each version of Argo CD in turn, each in a cluster of its own. A version that fails does not
// end the others. Several have their lines with the totals together at the end.
func (o options) run(ctx context.Context) error {
	versions, err := o.versions()
	if err != nil {
		return err
	}
	suite, err := o.suite()
	if err != nil {
		return err
	}
	page, err := o.results.Page(suite)
	if err != nil {
		return err
	}
	if o.demo && page.Kept() {
		return errors.New("--demo has no results: leave --results out")
	}
	o.out = page.Printer
	err = inTurn(o.out, versions, func(version string) (string, error) {
		one := o
		one.argocd = version
		if o.keep != "" && len(versions) > 1 {
			one.keep = filepath.Join(o.keep, version)
		}
		line, err := one.runOne(ctx)
		return line, errors.Join(err, ctx.Err())
	})
	return errors.Join(err, page.Close(err))
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
			line = fmt.Sprintf("e2e: argocd=%s failed", version)
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
