package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/release"
	"github.com/stepgate/stepgate/test/script"
)

// measureLasting measures the writes that a lasting denial makes the ApplicationSet controller send: first for a patch with
// nothing but the operation, and then for one that changes the spec as well, which the controller begins anew every
// time. Each is watched for a while.
func (s *suite) measureLasting(ctx context.Context, watched time.Duration) error {
	r := newRollout(ctx, s, scenario{key: "loop", each: 1}, lasting)
	return script.Run(func() {
		r.prepare()
		later := r.in("qa", "prod")
		// dev is not compared with the commit, so qa is refused.
		r.watchDenials("operation alone", watched, func() {
			r.begin()
			r.commitAhead(later)
			r.refresh(later...)
		})
		// The spec of qa changes as well, and as it is refused together with the operation, every try is a change of the spec.
		r.watchDenials("spec and operation", watched, func() {
			for _, m := range later {
				m.path, m.version = m.name+"/two", "3"
			}
			r.changed()
			r.edit(nil)
		})
		// The denial names this refresh as the way out.
		r.refresh(r.one("dev"))
		r.complete()
		if r.finished.IsZero() {
			script.Fail("the rollout after the denials did not complete: %s", r.summary())
		}
	})
}

// commitAhead commits version 2, and beside it the folder that a later change of the spec points to.
func (r *rollout) commitAhead(members []*member) {
	changed := files{}
	for _, m := range members {
		m.version = "2"
		maps.Copy(changed, m.file("Healthy"))
		next := *m
		next.path, next.version = m.name+"/two", "3"
		maps.Copy(changed, next.file("Healthy"))
	}
	r.commit(members[0].repo, changed)
}

// watchDenials makes a change and counts what follows for a while. It fails unless the ApplicationSet's conditions show one
// text of a denial, from the first to the last.
func (r *rollout) watchDenials(what string, watched time.Duration, change func()) {
	began, before := time.Now(), r.reconciles()
	change()
	var texts []string
	for time.Since(began) < watched {
		if text := r.errorCondition(); text != "" && (len(texts) == 0 || text != texts[len(texts)-1]) {
			texts = append(texts, text)
		}
		r.pause(pollEvery)
	}
	ended, after := time.Now(), r.reconciles()
	fmt.Printf("lasting denial, %s: %.0f reconciles, %s\n", what, after-before, r.denialRate(began, ended))
	if len(texts) != 1 {
		script.Fail("the text of the denial in the ApplicationSet's conditions did not stay the same: %q", texts)
	}
	fmt.Printf("  the text stayed the same: %s\n", texts[0])
}

// denialRate words how many denials and other writes of the controller there were, in all and in the last ten seconds.
func (r *rollout) denialRate(from, to time.Time) string {
	var denials, lastDenials, others int
	for _, w := range script.Get(readAudited(r.AuditLog)) {
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

// reconciles is how many the ApplicationSet controller has done.
func (r *rollout) reconciles() float64 {
	return script.Get(release.Metric(r.ctx, r.argo.ApplicationSetMetrics(), "controller_runtime_reconcile_total"))
}

// errorCondition is the denial as the ApplicationSet shows it.
func (r *rollout) errorCondition() string {
	for _, c := range r.applicationSet().Status.Conditions {
		if c.Type == argo.ApplicationSetConditionErrorOccurred && strings.Contains(c.Message, "denied") {
			return c.Message
		}
	}
	return ""
}
