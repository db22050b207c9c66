// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/webhook/settings"
)

// child is a child of the parent "platform", and its sync wave. generated says that it is one of the Applications of
// the ApplicationSet "fleet", which is the child, and has that wave.
type child struct {
	name      string
	wave      int
	generated bool
}

// children are ten in five waves, in the order in which they have to go.
func children() []child {
	return []child{
		{name: "crds-a", wave: -5}, {name: "crds-b", wave: -5}, {name: "base-a"}, {name: "base-b"},
		{name: "fleet-a", wave: 5, generated: true}, {name: "fleet-b", wave: 5, generated: true},
		{name: "data-a", wave: 10}, {name: "data-b", wave: 10}, {name: "shop-a", wave: 20}, {name: "shop-b", wave: 20},
	}
}

// wavesPlay is one change to the children.
type wavesPlay struct {
	key, title string
	// changes says which children a commit changes, and degrades which one it makes Degraded.
	changes  func(child) bool
	degrades string
	// complete are those that have to deploy it.
	complete func(child) bool
	// moves has other waves that children get in git before, and deletes is a child that somebody deletes then.
	moves   map[string]int
	deletes string
}

func wavesPlays() []wavesPlay {
	every := func(child) bool { return true }
	return []wavesPlay{
		{key: "all", title: "a commit changes all children; the last wave is compared first", changes: every, complete: every},
		{
			key: "two", title: "a commit changes two children only, of two waves; the later one is compared first",
			changes:  func(c child) bool { return c.name == "base-b" || c.name == "shop-a" },
			complete: func(c child) bool { return c.name == "base-b" || c.name == "shop-a" },
		},
		{
			key: "degraded", title: "a commit makes a child of wave 0 Degraded", changes: every, degrades: "base-a",
			complete: func(c child) bool { return c.wave < 0 || c.name == "base-b" },
		},
		{key: "repaired", title: "the next commit repairs it", changes: every, complete: every},
		{
			key: "moved", title: "a child moves from the last wave into the middle; a commit changes all",
			changes: every, complete: every, moves: map[string]int{"shop-a": 3},
		},
		{
			key: "deleted", title: "somebody deletes a child, and a commit changes all", changes: every, complete: every,
			deletes: "base-b",
		},
	}
}

// TestWaves lets a parent Application install ten children in five sync waves, and then changes their content.
func TestWaves(t *testing.T) {
	about := report.Suite{
		Name: "e2e-waves", Title: "a parent Application with ten children in five sync waves (`stepgate.io/waves`)",
	}
	modes := []mode{off, waving}
	chosen.run(t, about, modes, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		s.out.Line("| what happens | stepgate | starts out of order | complete | time |\n|---|---|---|---|---|")
		line, err := "e2e-waves: argocd="+s.argo.Version, error(nil)
		for _, m := range modes {
			out, problem := s.playWaves(ctx, m)
			line += fmt.Sprintf(" %s_out_of_order=%d", m, out)
			switch {
			case problem != nil:
				err = errors.Join(err, fmt.Errorf("%s: %w", m, problem))
			case m == waving && out > 0:
				err = errors.Join(err, errors.New("out of order with stepgate"))
			case m == off && out == 0:
				err = errors.Join(err, errors.New("nothing was out of order without stepgate"))
			}
		}
		return line, err
	})
}

// playWaves installs the children and plays all changes, and returns how many starts were out of order.
func (s *suite) playWaves(ctx context.Context, m mode) (out int, err error) {
	repo, err := s.argo.NewRepository("waves-" + string(m))
	if err != nil {
		return 0, err
	}
	files := map[string]string{}
	versions := map[string]string{}
	write := func(c child, version, health string) {
		versions[c.name] = version
		files[c.name+"/configmap.yaml"] = fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: waves-%s\ndata:\n  version: %q\n  health: %s\n", c.name, version,
			health)
	}
	var names []string
	waves := map[string]int{}
	all := children()
	for _, c := range all {
		names, waves[c.name] = append(names, c.name), c.wave
		write(c, "1", "Healthy")
		if !c.generated {
			files["apps/"+c.name+".yaml"] = c.manifest(m, repo.URL)
		}
	}
	files["apps/fleet.yaml"] = fleetManifest(m, repo.URL)
	commit, err := repo.Commit(argocd.Main, files)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.Admin.Create(ctx, wavesParent(m, repo.URL)); err != nil {
		return 0, err
	}
	early, problem := s.playWave(ctx, m, commit, waves, names, names)
	s.out.Line("| the installation | %s | %d | %t | %.1f s |", m, len(early), problem == nil, time.Since(began).Seconds())
	s.tellEarly(early)
	if problem != nil {
		return len(early), fmt.Errorf("the installation: %w", problem)
	}
	out += len(early)
	for i, p := range wavesPlays() {
		var changed, complete []string
		for i := range all {
			if wave, moves := p.moves[all[i].name]; moves {
				all[i].wave, waves[all[i].name] = wave, wave
				if err := s.moveChild(ctx, m, repo, files, all[i]); err != nil {
					return out, fmt.Errorf("%s: %w", p.key, err)
				}
			}
		}
		if p.deletes != "" {
			app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(m), Name: p.deletes}}
			if err := s.Admin.Delete(ctx, app); err != nil {
				return out, fmt.Errorf("%s: %w", p.key, err)
			}
		}
		for _, c := range all {
			if p.changes(c) {
				health := "Healthy"
				if c.name == p.degrades {
					health = "Degraded"
				}
				write(c, fmt.Sprint(i+2), health)
				changed = append(changed, c.name)
			}
			if p.complete(c) {
				complete = append(complete, c.name)
			}
		}
		began := time.Now()
		commit, failed := repo.Commit(argocd.Main, files)
		if failed != nil {
			return out, failed
		}
		for _, name := range slices.Backward(names) {
			if err := s.refreshNow(ctx, m, name); client.IgnoreNotFound(err) != nil {
				return out, err
			}
		}
		early, problem := s.playWave(ctx, m, commit, waves, changed, complete)
		if m == waving && p.degrades != "" {
			problem = errors.Join(problem, s.askAboutWaves(ctx, p.degrades))
		}
		s.out.Line("| %s | %s | %d | %t | %.1f s |", p.title, m, len(early), problem == nil, time.Since(began).Seconds())
		s.tellEarly(early)
		out += len(early)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.key, problem))
		}
	}
	return out, err
}

// askAboutWaves asks the command line why a rollout stands still, as the person who is called at night does.
func (s *suite) askAboutWaves(ctx context.Context, degraded string) (problem error) {
	kubeconfig, err := s.AdminKubeconfig()
	if err != nil {
		return err
	}
	for _, q := range []struct {
		args []string
		want string
	}{
		{[]string{"get"}, "waves/platform"},
		{[]string{"get", "platform"}, "wave 0"},
		{[]string{"get", "platform", "--all"}, "fleet-a"},
		{[]string{"explain", "fleet-a"}, "wave 5"},
		{[]string{"explain", "shop-b"}, degraded},
		{[]string{"explain", degraded}, "wave 0"},
		{[]string{"pause", "platform", "--step", "20", "--reason", "INC-1"}, "wave 20"},
		{[]string{"get", "platform"}, "INC-1"},
		{[]string{"resume", "platform"}, "nothing is paused"},
		{[]string{"lint"}, "waves"},
	} {
		command := exec.CommandContext(ctx, s.Binary, append(q.args, "-n", string(waving), "--kubeconfig", kubeconfig)...)
		command.Env = append(os.Environ(), "COLUMNS=100")
		text, _ := command.CombinedOutput() // what it finds makes the exit code 1
		fmt.Printf("$ stepgate %s\n%s\n", strings.Join(q.args, " "), text)
		if !strings.Contains(string(text), q.want) {
			asked := strings.Join(q.args, " ")
			problem = errors.Join(problem, fmt.Errorf("stepgate %s does not say %q: %s", asked, q.want, text))
		}
	}
	return problem
}

// tellEarly prints which starts were out of order, for whoever looks at the run.
func (*suite) tellEarly(early []string) {
	for _, e := range early {
		fmt.Println("  out of order:", e)
	}
}

// playWave waits until these children have deployed a commit, and then for a while in which nobody else may. It returns
// the starts of syncs to the commit before all of it in the earlier waves was done.
func (s *suite) playWave(
	ctx context.Context, m mode, commit string, waves map[string]int, changed, complete []string,
) ([]string, error) {
	problem := s.untilChain(ctx, m, complete, func(o observer.Observation) bool { return doneAt(o, commit) })
	if len(complete) < len(changed) {
		select {
		case <-ctx.Done():
		case <-time.After(15 * time.Second): // nothing else may follow
		}
	}
	of := map[string]bool{}
	for _, name := range changed {
		of[name] = true
	}
	all, err := s.recorder.seen(string(m), of)
	if err != nil {
		return nil, err
	}
	return outOfWaves(all, of, waves, commit), problem
}

// outOfWaves are the starts of syncs to a commit before every changed child of the earlier waves was done with it. It
// goes by the order of the API server's events, and by the waves in git.
func outOfWaves(
	all []observer.Observation, changed map[string]bool, waves map[string]int, commit string,
) (early []string) {
	done, started := map[string]bool{}, map[string]bool{}
	for _, o := range all {
		if o.OperationSet && o.Compared.Revision == commit && !started[o.Name] {
			started[o.Name] = true
			for _, c := range children() {
				if changed[c.name] && waves[c.name] < waves[o.Name] && !done[c.name] {
					early = append(early, o.Name+" before "+c.name)
					break
				}
			}
		}
		if doneAt(o, commit) {
			done[o.Name] = true
		}
	}
	return early
}

// moveChild gives a child another wave in git, and waits until the parent has written that.
func (s *suite) moveChild(
	ctx context.Context, m mode, repo *argocd.Repository, files map[string]string, c child,
) error {
	files["apps/"+c.name+".yaml"] = c.manifest(m, repo.URL)
	if _, err := repo.Commit(argocd.Main, files); err != nil {
		return err
	}
	if err := s.refreshNow(ctx, m, "platform"); err != nil {
		return err
	}
	return eventually.Succeeds(ctx, func() error {
		app := &argo.Application{}
		if err := s.Admin.Get(ctx, client.ObjectKey{Namespace: string(m), Name: c.name}, app); err != nil {
			return err
		}
		if is := app.Annotations[synccommon.AnnotationSyncWave]; is != fmt.Sprint(c.wave) {
			return fmt.Errorf("%s is still in wave %s", c.name, is)
		}
		return nil
	})
}

// wavesParent deploys the folder of the children's manifests.
func wavesParent(m mode, url string) *argo.Application {
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: string(m), Name: "platform", Annotations: map[string]string{settings.WavesAnnotation: "true"},
		},
		Spec: argo.ApplicationSpec{
			Project:     "default",
			Source:      &argo.ApplicationSource{RepoURL: url, Path: "apps", TargetRevision: argocd.Main},
			Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: string(m)},
			SyncPolicy:  &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: ptr.To(true), SelfHeal: ptr.To(true)}},
		},
	}
}

// manifest is the child as its parent has it in git. One of wave 0 has no annotation.
func (c child) manifest(m mode, url string) string {
	wave := ""
	if c.wave != 0 {
		wave = fmt.Sprintf("  annotations: {argocd.argoproj.io/sync-wave: %q}\n", fmt.Sprint(c.wave))
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %s
  namespace: %s
%sspec:
  project: default
  source: {repoURL: %q, path: %s, targetRevision: %s}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  syncPolicy: {automated: {selfHeal: true}}
`, c.name, m, wave, url, c.name, argocd.Main, m.destination())
}

// fleetManifest is the ApplicationSet of the generated children as the parent has it in git.
func fleetManifest(m mode, url string) string {
	elements, wave := "", 0
	for _, c := range children() {
		if c.generated {
			elements, wave = elements+fmt.Sprintf("          - {name: %s}\n", c.name), c.wave
		}
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: fleet
  namespace: %s
  annotations: {argocd.argoproj.io/sync-wave: "%d"}
spec:
  goTemplate: true
  generators:
    - list:
        elements:
%s  template:
    metadata: {name: "{{.name}}"}
    spec:
      project: default
      source: {repoURL: %q, path: "{{.name}}", targetRevision: %s}
      destination: {server: "https://kubernetes.default.svc", namespace: %s}
      syncPolicy: {automated: {selfHeal: true}}
`, m, wave, elements, url, argocd.Main, m.destination())
}
