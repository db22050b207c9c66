// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/script"
)

// clockTick is the unit of the times in procfs.ProcStat: USER_HZ, 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// sizeProcesses are the processes whose processor time is reported, in the order of the table.
var sizeProcesses = []string{
	"kube-apiserver", "etcd", "argocd-repo-server", "argocd-application-controller", "argocd-applicationset-controller", "stepgate",
}

// cost is the processor time of all processes at one moment.
type cost struct {
	suite *suite
	at    map[string]time.Duration
}

func (s *suite) startCost() *cost { return &cost{s, script.Get(s.cpuTimes())} }

// end is the processor time since the start, by process.
func (c *cost) end() map[string]time.Duration {
	used := script.Get(c.suite.cpuTimes())
	for name := range used {
		used[name] -= c.at[name]
	}
	return used
}

// cpuTimes is the processor time of every process that this one has started, with the processes that it has started in
// turn, such as git, and has waited for.
func (s *suite) cpuTimes() (map[string]time.Duration, error) {
	names := map[int]string{}
	for name, pid := range s.argo.PIDs() {
		names[pid] = name
	}
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	times := map[string]time.Duration{}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.PPID != os.Getpid() { // it has ended, or is somebody else's
			continue
		}
		name := stat.Comm
		if component, ok := names[p.PID]; ok {
			name = component
		}
		ticks := int(stat.UTime+stat.STime) + stat.CUTime + stat.CSTime
		times[name] += time.Duration(ticks) * clockTick
	}
	return times, nil
}

// fleetWrites are the writes of Applications and ApplicationSets in a rollout.
type fleetWrites struct {
	all int
	// refused are the writes of the controllers that stepgate refused, and conflicts those that the API server refused
	// because the object had changed.
	refused, conflicts int
	// overtaken are the refused writes that the mutating webhook had let through. They do not count as refused.
	overtaken       int
	held, refreshes int
	// controller and application are the writes of the two controllers.
	controller, application int
}

// countWrites counts the writes in the namespace of the fleet between two moments.
func (f *fleet) countWrites(from, to time.Time) (t fleetWrites) {
	for _, w := range script.Get(f.audit.writes()) {
		at := w.RequestReceivedTimestamp
		if w.ObjectRef.Namespace != string(f.mode) || at.Before(from) || at.After(to) {
			continue
		}
		t.all++
		if w.held() {
			t.held++
		}
		switch w.User.Username {
		case cluster.ApplicationSetAccount:
			t.controller++
		case cluster.ControllerAccount:
			t.application++
		}
		switch {
		case w.byGate(f.mode):
			t.refreshes++
		case w.overtaken():
			t.overtaken++
		case w.refused():
			t.refused++
		case w.ResponseStatus.Code == http.StatusConflict:
			t.conflicts++
		}
	}
	return t
}
