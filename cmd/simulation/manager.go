// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/v3/applicationset/progressivesync"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	log "github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// earliest is before every virtual time, and after every real one.
var earliest = metav1.NewTime(epoch.AddDate(-50, 0, 0))

// manager drives upstream's progressivesync.Manager, and is what it writes statuses with.
type manager struct {
	c        *setController
	upstream *progressivesync.Manager
	log      *log.Entry
	// barrier says that the barrier of 3.6 follows the next statuses.
	barrier bool
}

func newManager(c *setController) *manager {
	m := &manager{c: c}
	m.upstream = progressivesync.NewManager(nil, nil, m)
	logger := log.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(log.PanicLevel)
	m.log = log.NewEntry(logger)
	return m
}

func (m *manager) perform(set argo.ApplicationSet, current, desired []argo.Application) (map[string]bool, error) {
	m.barrier = m.c.w.traits.barrier
	return m.upstream.PerformProgressiveSyncs(context.Background(), m.log, set, current, desired)
}

func (m *manager) sync(set *argo.ApplicationSet, syncs map[string]bool, desired []argo.Application) []argo.Application {
	return m.upstream.SyncDesiredApplications(m.log, set, syncs, desired)
}

// SetAppSetApplicationStatus records statuses. The manager calls it twice in a pass: with what it found, and with what
// may go on. The barrier of 3.6 is between the two.
func (m *manager) SetAppSetApplicationStatus(
	_ context.Context, _ *log.Entry, set *argo.ApplicationSet, statuses []argo.ApplicationSetApplicationStatus,
) error {
	barrier, before := m.barrier, noticed(set)
	m.barrier = false
	if err := m.store(set, statuses); err != nil || !barrier {
		return err
	}
	return m.c.barred(set, before)
}

// store is setAppSetApplicationStatus of the controller: nothing is written while neither status nor step nor message
// differ, nor, from 3.6 on, the time; and a write that rests on an outdated cache is tried again, five times, with what
// the cache has by then. The manager reads the real clock; its times are replaced by virtual ones.
func (m *manager) store(set *argo.ApplicationSet, statuses []argo.ApplicationSetApplicationStatus) error {
	if !m.differ(set.Status.ApplicationStatus, statuses) {
		return nil
	}
	w := m.c.w
	all := slices.Clone(statuses)
	for i, s := range all {
		if s.LastTransitionTime != nil && s.LastTransitionTime.Before(&earliest) {
			at := w.stamp()
			all[i].LastTransitionTime = &at
		}
	}
	slices.SortFunc(all, func(a, b argo.ApplicationSetApplicationStatus) int {
		return strings.Compare(a.Application, b.Application)
	})
	for range 5 {
		if m.c.set().ResourceVersion == m.c.of.live.ResourceVersion {
			m.traceStatuses(set, all)
			next := *m.c.of.live
			next.Status.ApplicationStatus = all
			w.api.writeSet(&next)
			next.DeepCopyInto(set)
			return nil
		}
		w.advance(w.delay(10 * time.Millisecond))
	}
	return errors.New("the object has been modified")
}

func (m *manager) traceStatuses(set *argo.ApplicationSet, all []argo.ApplicationSetApplicationStatus) {
	if m.c.w.trace == nil && m.c.w.observe == nil {
		return
	}
	for _, s := range all {
		old := argo.ProgressiveSyncStatusCode("")
		for _, o := range set.Status.ApplicationStatus {
			if o.Application == s.Application {
				old = o.Status
			}
		}
		if old != s.Status {
			m.c.w.tell(Observation{Kind: Recorded, Application: s.Application, Text: string(s.Status)})
			m.c.w.logf("the ApplicationSet records %s as %s (step %s)", s.Application, s.Status, s.Step)
		}
	}
}

// SetApplicationSetStatusCondition does nothing: nobody in the model reads conditions.
func (*manager) SetApplicationSetStatusCondition(
	context.Context, *argo.ApplicationSet, argo.ApplicationSetCondition, bool,
) error {
	return nil
}

func (m *manager) differ(old, now []argo.ApplicationSetApplicationStatus) bool {
	if len(old) != len(now) {
		return true
	}
	for _, s := range now {
		i := slices.IndexFunc(old, func(o argo.ApplicationSetApplicationStatus) bool {
			return o.Application == s.Application
		})
		if i < 0 || old[i].Status != s.Status || old[i].Step != s.Step || old[i].Message != s.Message ||
			m.c.w.traits.barrier && !old[i].LastTransitionTime.Equal(s.LastTransitionTime) {
			return true
		}
	}
	return false
}
