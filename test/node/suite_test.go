// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// suite plays the steps on a machine. The methods that are steps end by script.Must and script.Fail.
type suite struct {
	*machine
	ctx     context.Context
	printer *report.Printer
	argo    *argocd.ArgoCD
	helm    *installed.Helm
	watch   *watcher
	rollout *rollout
	writer  *load.Writer
	// before are the names of the objects of the cluster before stepgate is installed.
	before map[string]bool
	// notes are what the step under way has found.
	notes []string
}

// step is one line of the log. If one that the later ones build on fails, the run ends.
type step struct {
	title string
	play  func(*suite)
	base  bool
}

func steps() []step {
	return []step{
		{"control plane: etcd, kube-apiserver, controller manager, scheduler, kube-proxy", (*suite).plane, true},
		{"two nodes: kubelet, containerd and runc, with images from a registry", (*suite).nodes, true},
		{"Argo CD: its controllers and an ApplicationSet with three steps", (*suite).argoCD, true},
		{"a rollout without stepgate, prod refreshed first", (*suite).rolloutWithout, true},
		{"helm install, in audit mode, and helm test", (*suite).install, true},
		{"helm upgrade to enforce mode, and helm test", (*suite).enforce, true},
		{"the Pods are as the chart says", (*suite).inspect, false},
		{"a rollout with stepgate, prod refreshed first", (*suite).rolloutWith, false},
		{"helm upgrade with changed values, under load", (*suite).upgrade, false},
		{"evictions: the PodDisruptionBudget keeps a replica", (*suite).evict, false},
		{"kubectl drain of each node, under load", (*suite).drain, false},
		{"the requests that take most memory, at the chart's limit", (*suite).withinLimit, false},
		{"the same at a limit that is too low: the kernel kills the replica", (*suite).beyondLimit, false},
		{"a limit at which no replica starts: the update stops, and the old replicas serve", (*suite).startless, false},
		{"helm uninstall; Argo CD goes on", (*suite).uninstall, false},
	}
}

// play plays all steps inside the namespaces.
func play(ctx context.Context, dir string) (err error) {
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	ctrllog.SetLogger(logr.Discard())
	if err := settle(dir); err != nil {
		return fmt.Errorf("prepare the namespaces: %w", err)
	}
	m, err := newMachine(dir)
	if err != nil {
		return err
	}
	s := &suite{machine: m, ctx: ctx, printer: report.New(os.Stdout)}
	defer s.stop()
	began, passed := time.Now(), 0
	for _, one := range steps() {
		start := time.Now()
		s.notes = nil
		problem := script.Run(func() { one.play(s) })
		word := s.printer.Paint(screen.Good, "ok    ")
		if problem != nil {
			word = s.printer.Paint(screen.Bad, "FAILED")
			err = errors.Join(err, fmt.Errorf("%s: %w", one.title, problem))
		} else {
			passed++
		}
		s.printer.Line("%s %6.1fs  %s", word, time.Since(start).Seconds(), one.title)
		for _, note := range s.notes {
			s.printer.Line("                %s", s.printer.Wrap(note, 16))
		}
		if problem != nil {
			s.printer.Line("                %s", strings.TrimSpace(problem.Error()))
		}
		s.keepPodLogs()
		if problem != nil && one.base || ctx.Err() != nil {
			break
		}
	}
	s.printer.Line("e2e-node: steps=%d passed=%d seconds=%.0f", len(steps()), passed, time.Since(began).Seconds())
	return err
}

// note adds a line below the line of the step.
func (s *suite) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// stop ends what has to end in order. The kernel ends the rest.
func (s *suite) stop() {
	if s.watch != nil {
		s.watch.stop()
	}
	if s.argo != nil {
		s.argo.Stop()
	}
}
