// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/checkout"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/report"
)

// mode is how a rollout is gated. It is also the namespace of its Applications; each gate is registered for one.
type mode string

const (
	off   mode = "off"
	on    mode = "on"
	audit mode = "audit"
	// candidate is the mode of a gate that pins to what the earlier steps have completed.
	candidate mode = "candidate"
	// pair is the mode of a gate with two replicas, of which one is killed.
	pair mode = "pair"
	// refusing is the mode of a gate that refuses what it otherwise holds, and unreleased of one that releases nothing.
	refusing   mode = "refusing"
	unreleased mode = "unreleased"
	// starting is the mode of a gate with two replicas that also starts what is due, and pins as candidate does.
	starting mode = "starting"
	// limited is the same, and keeps maxUpdate. forgetful is the same as starting, without the ledger.
	limited   mode = "limited"
	forgetful mode = "forgetful"
	// verifying is the mode of a gate that reads Jobs and AnalysisRuns, and creates the latter.
	verifying mode = "verifying"
	// conditional is the mode of a gate with one approver.
	conditional mode = "conditional"
	// waving is the mode of a gate that has parents order their children.
	waving mode = "waving"
	// wavingOn is the same with two replicas, and starts what is due.
	wavingOn mode = "waving-starts"
)

// keepsOrder says that the mode promises that nothing starts early.
func (m mode) keepsOrder() bool { return m != off && m != audit }

// holds says that the mode promises that the ApplicationSet controller is never refused.
func (m mode) holds() bool {
	return m == on || m == candidate || m.starts() || m == conditional || m.waves()
}

// starts says that the gate starts what is due.
func (m mode) starts() bool {
	return m == starting || m == limited || m == forgetful || m == wavingOn
}

// waves says that the gate has parents order their children.
func (m mode) waves() bool { return m == waving || m == wavingOn }

// keeps says that the gate keeps the ledger.
func (m mode) keeps() bool { return m != off && m != forgetful }

// replicas is the number of processes of the gate.
func (m mode) replicas() int {
	if m == pair || m.starts() {
		return 2
	}
	return 1
}

// destination is the namespace that the Applications deploy to.
func (m mode) destination() string { return "work-" + string(m) }

// team is another namespace in which Applications may be, beside the mode's own.
func (m mode) team() string { return string(m) + "-team" }

// gateName is the name of the gate's instance, of its namespace and of its service account.
func (m mode) gateName() string { return "stepgate-" + string(m) }

// args are the flags of the gate. Each watches its own namespace: it would release syncs in the others as well. All but
// one leave sync windows to Argo CD, which parks the syncs: a scenario lets a commit land meanwhile. conditional is the
// one that lets them wait.
func (m mode) args() []string {
	args := []string{"--application-namespaces=" + string(m)}
	if m != conditional {
		args = append(args, "--sync-windows=false")
	}
	switch m {
	case audit:
		return append(args, "--mode=audit")
	case candidate, starting, limited, forgetful:
		return append(args, "--pin=candidate")
	case refusing:
		return append(args, "--hold=false")
	case unreleased:
		return append(args, "--release=false")
	case verifying:
		return append(args, "--verify-kinds=analysisruns.v1alpha1.argoproj.io,jobs.v1.batch", "--verify-create")
	case conditional:
		return append(args, "--approver="+approver)
	case waving, wavingOn:
		return append(args, "--waves", "--application-namespaces="+m.team())
	default:
		return args
	}
}

// suite is everything that runs: the cluster, Argo CD, and the gates.
type suite struct {
	*environment.Environment
	// out is where results are printed. What a run says meanwhile goes to stdout.
	out        *report.Printer
	argo       *argocd.ArgoCD
	recorder   *recorder
	audit      *auditLog
	conditions *conditions
	// grace is how long the ApplicationSet controller waits after a change.
	grace   time.Duration
	unwatch context.CancelFunc
	gates   map[mode]*installed.Release
	// elsewhere is the second cluster, if there is one.
	elsewhere *remote
	clis      map[mode]*argocd.CLI
}

// longResync is an interval at which nothing happens in a run.
const longResync = 6 * time.Hour

// quietSettings are how Argo CD runs unless a scenario needs something else.
func quietSettings() argocd.Settings { return argocd.Settings{Resync: longResync} }

func start(ctx context.Context, flags options, modes []mode) (s *suite, err error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	o, err := argocd.Locate(root, flags.argocd)
	if err != nil {
		return nil, err
	}
	s = &suite{out: flags.out, gates: map[mode]*installed.Release{}, clis: map[mode]*argocd.CLI{}}
	s.Environment, err = environment.Start(ctx, environment.Options{
		Options: cluster.Options{Manifests: o.Manifests}, OnlyArgoCD: true,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	o.Settings, o.AppOfApps = quietSettings(), flags.gitops || slices.Contains(modes, waving)
	s.grace = o.Grace
	if flags.grace >= 0 {
		s.grace = time.Duration(flags.grace) * time.Second
		o.ApplicationSetFlags = append(o.ApplicationSetFlags, fmt.Sprintf("--refresh-grace-period-seconds=%d", flags.grace))
	}
	for _, m := range modes {
		o.Namespaces = append(o.Namespaces, string(m))
		if slices.Contains(modes, waving) {
			o.Namespaces = append(o.Namespaces, m.team())
		}
		if err := s.CreateNamespace(ctx, m.destination()); err != nil {
			return nil, err
		}
	}
	if s.argo, err = argocd.Start(ctx, s.Environment, o); err != nil {
		return nil, err
	}
	watching, unwatch := context.WithCancel(ctx)
	s.unwatch, s.audit = unwatch, &auditLog{path: s.AuditLog}
	if s.recorder, err = record(watching, s.Config); err != nil {
		return nil, err
	}
	if s.conditions, err = recordConditions(watching, s.Config); err != nil {
		return nil, err
	}
	for _, m := range modes {
		if s.clis[m], err = s.argo.NewCLI(ctx, string(m)); err != nil {
			return nil, fmt.Errorf("the argocd CLI: %w", err)
		}
	}
	if err := s.installUsers(ctx); err != nil {
		return nil, err
	}
	return s, s.startGates(ctx, modes)
}

func (s *suite) startGates(ctx context.Context, modes []mode) (err error) {
	for _, m := range modes {
		if m == off {
			continue
		}
		o := installed.Options{
			Registration: installed.Registration{Name: m.gateName(), Namespaces: []string{string(m)}}, Args: m.args(), Starts: m.starts(),
			KeepsMaxUpdate: m == limited, Keeps: m.keeps(), Waves: m.waves(),
		}
		if m.waves() {
			o.Namespaces = append(o.Namespaces, m.team())
		}
		if s.gates[m], err = installed.Start(ctx, s.Environment, o, make([]string, m.replicas())...); err != nil {
			return fmt.Errorf("start the gate %s: %w", m.gateName(), err)
		}
	}
	return nil
}

func (s *suite) stop() error {
	// The API server waits for open watches when it is stopped.
	if s.unwatch != nil {
		s.unwatch()
	}
	for _, g := range s.gates {
		if g != nil {
			g.Kill()
		}
	}
	if s.argo != nil {
		s.argo.Stop()
	}
	return s.Stop()
}

// keep copies the logs to a folder.
func (s *suite) keep(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	paths, err := s.argo.Logs()
	if err != nil {
		return err
	}
	for _, path := range append(paths, s.AuditLog) {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o644); err != nil {
			return err
		}
	}
	for m, g := range s.gates {
		for i, replica := range g.Replicas() {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.log", m.gateName(), i)), []byte(replica.Log()),
				0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
