// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// legacy is the progressive sync of Argo CD up to 3.2: it records how far each Application is, and returns which of
// them may be synced. The next step opens when all of the step before it are recorded as Healthy.
func (m *manager) legacy(set *argo.ApplicationSet, current, desired []argo.Application) (map[string]bool, error) {
	statuses := slices.Clone(set.Status.ApplicationStatus)
	statuses = slices.DeleteFunc(statuses, func(s argo.ApplicationSetApplicationStatus) bool {
		return !slices.ContainsFunc(current, func(a argo.Application) bool { return a.Name == s.Application })
	})
	for i := range current {
		statuses = m.legacyStatus(statuses, &current[i], stepIn(desired, current[i].Name))
	}
	if err := m.SetAppSetApplicationStatus(context.Background(), m.log, set, statuses); err != nil {
		return nil, err
	}
	open := legacyOpen(len(m.c.w.scenario.steps()), desired, statuses)
	next, free := slices.Clone(statuses), m.legacyFree(desired, statuses)
	for i, s := range next {
		step := stepIn(desired, s.Application)
		if at, limited := free[step]; s.Status == argo.ProgressiveSyncWaiting && open[s.Application] && (!limited || at > 0) {
			m.record(&next[i], argo.ProgressiveSyncPending, step)
			if limited {
				free[step]--
			}
		}
	}
	maps.DeleteFunc(open, func(name string, _ bool) bool { // only what is OutOfSync is synced
		return !slices.ContainsFunc(current, func(a argo.Application) bool {
			return a.Name == name && a.Status.Sync.Status == argo.SyncStatusCodeOutOfSync
		})
	})
	return open, m.SetAppSetApplicationStatus(context.Background(), m.log, set, next)
}

// legacyFree are the slots of each step that maxUpdate limits. It mirrors updateApplicationSetApplicationStatusProgress of
// argo-cd v3.2.12, applicationset/controllers/applicationset_controller.go.
func (m *manager) legacyFree(desired []argo.Application, statuses []argo.ApplicationSetApplicationStatus) map[int]int {
	size, busy, free := map[int]int{}, map[int]int{}, map[int]int{}
	for _, s := range statuses {
		step := stepIn(desired, s.Application)
		size[step]++
		if s.Status == argo.ProgressiveSyncPending || s.Status == argo.ProgressiveSyncProgressing {
			busy[step]++
		}
	}
	for i, s := range m.c.w.scenario.steps() {
		most := s.MaxUpdate
		if most == nil {
			continue
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(most, size[i+1], false)
		if most.Type == intstr.String && most.StrVal != "0%" && n < 1 || err != nil {
			n = max(n, 1)
		}
		free[i+1] = n - busy[i+1]
	}
	return free
}

// stepIn is the step that the generator gives an Application, -1 where it does not give it.
func stepIn(desired []argo.Application, name string) int {
	for i := range desired {
		if desired[i].Name == name {
			return stepOf(&desired[i])
		}
	}
	return -1
}

// record is a transition. It also writes the step, which is not touched otherwise.
func (m *manager) record(s *argo.ApplicationSetApplicationStatus, status argo.ProgressiveSyncStatusCode, step int) {
	at := m.c.w.stamp()
	s.Status, s.LastTransitionTime, s.Step = status, &at, strconv.Itoa(step)
	s.Message = "Application is " + string(status)
}

// legacyStatus brings the entry of one Application up to date.
func (m *manager) legacyStatus(
	statuses []argo.ApplicationSetApplicationStatus, app *argo.Application, step int,
) []argo.ApplicationSetApplicationStatus {
	i := slices.IndexFunc(statuses, func(s argo.ApplicationSetApplicationStatus) bool { return s.Application == app.Name })
	if i < 0 {
		i = len(statuses)
		statuses = append(statuses, argo.ApplicationSetApplicationStatus{
			Application: app.Name, TargetRevisions: app.Status.GetRevisions(),
		})
		m.record(&statuses[i], argo.ProgressiveSyncWaiting, step)
	}
	s := &statuses[i]
	phase := synccommon.OperationPhase("")
	if app.Status.OperationState != nil {
		phase = app.Status.OperationState.Phase
	}
	outdated := app.Status.Sync.Status == argo.SyncStatusCodeOutOfSync
	progressing := app.Status.Health.Status == health.HealthStatusProgressing
	switch {
	case !reflect.DeepEqual(s.TargetRevisions, app.Status.GetRevisions()):
		s.TargetRevisions = app.Status.GetRevisions()
		m.record(s, argo.ProgressiveSyncWaiting, step)
	case outdated && s.Status != argo.ProgressiveSyncWaiting && s.Status != argo.ProgressiveSyncPending:
		m.record(s, argo.ProgressiveSyncWaiting, step)
	}
	if s.Status == argo.ProgressiveSyncPending &&
		(!outdated && phase == synccommon.OperationSucceeded || phase == synccommon.OperationRunning || progressing) {
		m.record(s, argo.ProgressiveSyncProgressing, step)
	}
	healthy := app.Status.Health.Status == health.HealthStatusHealthy && !outdated &&
		(phase == "" || phase == synccommon.OperationSucceeded)
	if healthy && (s.Status == argo.ProgressiveSyncWaiting || s.Status == argo.ProgressiveSyncProgressing) {
		m.record(s, argo.ProgressiveSyncHealthy, step)
	}
	return statuses
}

// legacyOpen are the Applications whose step is open.
func legacyOpen(
	steps int, desired []argo.Application, statuses []argo.ApplicationSetApplicationStatus,
) map[string]bool {
	open, enabled := map[string]bool{}, true
	for step := 1; step <= steps; step++ {
		next := true
		for i := range desired {
			if stepOf(&desired[i]) != step {
				continue
			}
			open[desired[i].Name] = enabled
			next = next && slices.ContainsFunc(statuses, func(s argo.ApplicationSetApplicationStatus) bool {
				return s.Application == desired[i].Name && s.Status == argo.ProgressiveSyncHealthy
			})
		}
		enabled = next
	}
	return open
}
