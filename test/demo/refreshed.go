package main

import (
	"errors"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/report"
)

// refreshed waits until stepgate has asked for an Application to be refreshed: it does so after its answer.
func refreshed(env string) func(*play) error {
	return func(p *play) error {
		err := eventually.Succeeds(p.ctx, func() error {
			app, err := p.app(env)
			if err == nil && app.Annotations[argo.AnnotationKeyRefresh] == "" {
				err = errors.New("stepgate has not asked for a refresh of " + env)
			}
			return err
		})
		if err != nil {
			return err
		}
		p.out.Line("\n     %s annotated %s with %s=%s: Argo CD compares it again", p.out.Paint(report.Bold, "stepgate"), env, argo.AnnotationKeyRefresh, argo.RefreshTypeNormal)
		return nil
	}
}
