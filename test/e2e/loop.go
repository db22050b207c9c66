package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/release"
)

// loop is the mode of a gate that does not refresh, so that a denial lasts.
const loop mode = "loop"

// lasting is how long each kind of lasting denial is watched.
const lasting = time.Minute

// measureLoop measures what lasting denials make the ApplicationSet controller do: first of a patch with nothing but
// the operation, and then of one that changes the spec as well, which the controller begins anew every time.
func (s *stand) measureLoop(ctx context.Context) error {
	r := &rollout{stand: s, scenario: scenario{key: "loop", each: 1}, mode: loop, name: "loop"}
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	later := append(r.in("qa"), r.in("prod")...)
	// dev is not compared with the commit, so qa is refused.
	err := r.watchDenials(ctx, "operation alone", func() error {
		r.begin()
		if err := r.ahead(later); err != nil {
			return err
		}
		return r.refresh(ctx, between, later...)
	})
	if err != nil {
		return err
	}
	// The spec of qa changes as well, and as it is refused together with the operation, every try is a change of the spec.
	err = r.watchDenials(ctx, "spec and operation", func() error {
		for _, m := range later {
			m.path, m.version = m.name+"/two", "3"
			m.pending(m.changes[len(m.changes)-1].Revision)
		}
		r.changed()
		return r.edit(ctx, nil)
	})
	if err != nil {
		return err
	}
	// The way out that the denial names.
	if err := r.refresh(ctx, between, r.in("dev")...); err != nil {
		return err
	}
	if err := r.complete(ctx); err != nil {
		return err
	}
	return r.mustBeFinished("the rollout after the denials")
}

// ahead commits version 2, and beside it the folder that a later change of the spec points to.
func (r *rollout) ahead(members []*member) error {
	repo, files := members[0].repo, map[string]string{}
	for _, m := range members {
		m.version = "2"
		maps.Copy(files, m.file("Healthy"))
		next := *m
		next.path, next.version = m.name+"/two", "3"
		maps.Copy(files, next.file("Healthy"))
	}
	return r.commit(map[*argocd.Repository]map[string]string{repo: files}, []*argocd.Repository{repo})
}

// watchDenials makes a change and counts what follows for a while. It fails unless there is one text of a denial in
// the ApplicationSet's conditions, from the first to the last.
func (r *rollout) watchDenials(ctx context.Context, what string, change func() error) error {
	began, before, err := r.reconciles(ctx)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	var texts []string
	last := ""
	for time.Since(began) < lasting {
		text, err := r.errorCondition(ctx)
		if err != nil {
			return err
		}
		if text != last && text != "" {
			texts, last = append(texts, text), text
		}
		if err := wait(ctx, pollEvery); err != nil {
			return err
		}
	}
	ended, after, err := r.reconciles(ctx)
	if err != nil {
		return err
	}
	writes, err := readTraffic(r.cluster.AuditLog)
	if err != nil {
		return err
	}
	fmt.Printf("lasting denial, %s: %.0f reconciles, %s\n", what, after-before, r.denialRate(writes, began, ended))
	if len(texts) != 1 {
		return fmt.Errorf("the text of the denial in the ApplicationSet's conditions did not stay the same: %q", texts)
	}
	fmt.Printf("  the text stayed the same: %s\n", texts[0])
	return nil
}

// denialRate words how many denials and other writes of the controller there were, in all and in the last ten seconds.
func (r *rollout) denialRate(writes []write, from, to time.Time) string {
	var denials, lastDenials, others int
	for _, w := range writes {
		at := w.RequestReceivedTimestamp
		if w.ObjectRef.Namespace != string(r.mode) || w.User.Username != cluster.ApplicationSetAccount || at.Before(from) || at.After(to) {
			continue
		}
		if w.ResponseStatus.Code != 403 {
			others++
			continue
		}
		denials++
		if at.After(to.Add(-10 * time.Second)) {
			lastDenials++
		}
	}
	return fmt.Sprintf("%d denials in %.0fs (%d in the last 10s), %d other writes", denials, to.Sub(from).Seconds(), lastDenials, others)
}

// reconciles is how many the ApplicationSet controller has done, and when that was.
func (r *rollout) reconciles(ctx context.Context) (time.Time, float64, error) {
	n, err := release.Metric(ctx, r.argo.ApplicationSetMetrics(), "controller_runtime_reconcile_total")
	return time.Now(), n, err
}

// errorCondition is the denial as the ApplicationSet shows it.
func (r *rollout) errorCondition(ctx context.Context) (string, error) {
	var set argo.ApplicationSet
	if err := r.admin.Get(ctx, types.NamespacedName{Namespace: string(r.mode), Name: r.name}, &set); err != nil {
		return "", err
	}
	for _, c := range set.Status.Conditions {
		if c.Type == argo.ApplicationSetConditionErrorOccurred && strings.Contains(c.Message, "denied") {
			return c.Message, nil
		}
	}
	return "", nil
}
