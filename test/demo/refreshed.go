package main

import (
	"context"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// refreshed waits until stepgate has asked for an Application to be refreshed: it does so after its answer.
func refreshed(env string) func(*play) error {
	return func(p *play) error {
		err := wait.PollUntilContextTimeout(p.ctx, 50*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
			app, err := p.app(env)
			if err != nil {
				return false, err
			}
			_, asked := app.IsRefreshRequested()
			return asked, nil
		})
		if err != nil {
			return fmt.Errorf("stepgate has not asked for a refresh of %s: %w", env, err)
		}
		p.out.line("\n     %s annotated %s with %s=%s: Argo CD compares it again", p.out.paint(bold, "stepgate"), env, argo.AnnotationKeyRefresh, argo.RefreshTypeNormal)
		return nil
	}
}
