// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/webhook/settings"
)

// mistake is something wrong about what Applications come after, and what ends it.
type mistake struct {
	title string
	// links are created in this order, each with what it comes after. Their names begin with the same word, which is also
	// the name of their repository.
	links []mistaken
	// broken are Applications of which the first commit is Degraded.
	broken []string
	// edit is made once all are created; nil if there is nothing else.
	edit func(*mistakes) error
	// waits is who may not start after that, and says what `stepgate explain` says of it, as a regular expression; empty
	// if nobody waits.
	waits, says string
	// end ends that, and ends are those who deploy then; nil if nothing has to be done.
	end  func(*mistakes) error
	ends []string
	// warning is a part of what somebody is told who writes an annotation.
	warning string
}

// mistaken is a link with what it comes after.
type mistaken struct {
	link
	after string
}

// mistakes plays one mistake after another.
type mistakes struct {
	*suite
	ctx        context.Context
	kubeconfig string
	repo       *argocd.Repository
	played     mistake
	heard      []string
}

func lone(name, after string) mistaken { return mistaken{link{name: name, alone: true}, after} }

// everyMistake are those that people make. Argo CD syncs all Applications by itself.
func everyMistake() []mistake {
	return []mistake{
		{
			title: "what it comes after never existed, and is created", links: []mistaken{lone("never-late", "never-base")},
			waits: "never-late", says: "never-base .*DependencyNotFound", warning: "never-base, which does not exist",
			end:  func(m *mistakes) error { return m.create(lone("never-base", "")) },
			ends: []string{"never-base", "never-late"},
		},
		{
			title: "what it comes after is deleted while it waits", broken: []string{"gone-base"},
			links: []mistaken{lone("gone-base", ""), lone("gone-late", "gone-base")},
			edit:  func(m *mistakes) error { return m.remove("gone-base") },
			waits: "gone-late", says: "gone-base .*DependencyNotFound",
			end:  func(m *mistakes) error { return m.annotate("gone-late", "") },
			ends: []string{"gone-late"},
		},
		{
			title: "two come after each other", links: []mistaken{lone("two-a", "two-b"), lone("two-b", "two-a")},
			waits: "two-b", says: `in a circle \(two-b > two-a > two-b\)`, warning: "a circle (two-b > two-a > two-b)",
			end:  func(m *mistakes) error { return m.annotate("two-a", "") },
			ends: []string{"two-a", "two-b"},
		},
		{
			title: "an annotation closes a circle while others wait", broken: []string{"ring-a"},
			links: []mistaken{lone("ring-a", ""), lone("ring-b", "ring-a"), lone("ring-c", "ring-b")},
			edit:  func(m *mistakes) error { return m.waitsThen("ring-c", "ring-a", "ring-c") },
			waits: "ring-b", says: "ring-a .*Degraded", warning: "a circle (ring-a > ring-c > ring-b > ring-a)",
			end:  func(m *mistakes) error { return m.annotate("ring-b", "") },
			ends: []string{"ring-b", "ring-c"},
		},
		{
			title: "an ApplicationSet and an Application have the name", broken: []string{"twice-app"},
			links: []mistaken{
				lone("twice-base", ""), {link{name: "twice-base", apps: []string{"twice-app"}}, ""},
				lone("twice-late", "twice-base"),
			},
			waits: "twice-late", says: "twice-app .*Degraded",
			end:  func(m *mistakes) error { return m.mend() },
			ends: []string{"twice-base", "twice-app", "twice-late"},
		},
	}
}

// TestAfterMistakes makes mistakes in stepgate.io/after where the real Argo CD syncs.
func TestAfterMistakes(t *testing.T) {
	about := report.Suite{Name: "e2e-after-mistakes", Title: "mistakes in `stepgate.io/after`"}
	chosen.run(t, about, []mode{on}, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		if err := s.argo.Restart(ctx, argocd.Settings{Resync: longResync, Unordered: true}); err != nil {
			return "", err
		}
		kubeconfig, err := s.AdminKubeconfig()
		if err != nil {
			return "", err
		}
		s.out.Line("| mistake | while it lasts | once it is repaired |\n|---|---|---|")
		all := everyMistake()
		for _, played := range all {
			m := &mistakes{suite: s, ctx: ctx, kubeconfig: kubeconfig, played: played}
			if problem := m.play(); problem != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", played.title, problem))
			}
		}
		return fmt.Sprintf("e2e-after-mistakes: argocd=%s mistakes=%d", s.argo.Version, len(all)), err
	})
}

// HandleWarningHeader is rest.WarningHandler.
func (m *mistakes) HandleWarningHeader(_ int, _, text string) { m.heard = append(m.heard, text) }

func (m *mistakes) play() (err error) {
	word, _, _ := strings.Cut(m.played.links[0].name, "-")
	if m.repo, err = m.argo.NewRepository("after-" + word); err != nil {
		return err
	}
	if _, err := m.repo.Commit(argocd.Main, m.files(false)); err != nil {
		return err
	}
	for _, l := range m.played.links {
		if err := m.create(l); err != nil {
			return err
		}
	}
	if m.played.edit != nil {
		if err := m.played.edit(m); err != nil {
			return err
		}
	}
	lasts := "nobody waits"
	if m.played.waits != "" {
		if lasts, err = m.stands(); err != nil {
			return err
		}
	}
	began := time.Now()
	if m.played.end != nil {
		if err := m.played.end(m); err != nil {
			return err
		}
	}
	if err := m.untilChain(m.ctx, on, m.played.ends, func(o observer.Observation) bool {
		return o.Synced && o.Operated.Revision != "" && !o.OperationSet
	}); err != nil {
		return err
	}
	m.out.Line("| %s | %s | %v have deployed after %.1f s |", m.played.title, lasts, m.played.ends,
		time.Since(began).Seconds())
	if all := strings.Join(m.heard, "\n"); !strings.Contains(all, m.played.warning) {
		return fmt.Errorf("whoever wrote the annotations was told %q, and nothing of %s", all, m.played.warning)
	}
	return nil
}

// stands waits until somebody is told why an Application does not start, and sees that it does not.
func (m *mistakes) stands() (said string, err error) {
	if said, err = m.untilSaid(m.played.waits, m.played.says); err != nil {
		return "", err
	}
	select {
	case <-m.ctx.Done():
	case <-time.After(standsStill):
	}
	if app := m.recorder.app(string(on), m.played.waits); app.Operation != nil || app.Status.OperationState != nil {
		return "", fmt.Errorf("%s has started", m.played.waits)
	}
	return said, nil
}

// untilSaid waits until `stepgate explain` says something of an Application, and returns that line.
func (m *mistakes) untilSaid(app, what string) (string, error) {
	matches, said := regexp.MustCompile(what), ""
	for until := time.Now().Add(time.Minute); time.Now().Before(until) && m.ctx.Err() == nil; {
		out := &bytes.Buffer{}
		explain := exec.CommandContext(m.ctx, m.Binary, "explain", app, "-n", string(on), "--kubeconfig", m.kubeconfig)
		explain.Stdout, explain.Stderr = out, out
		_ = explain.Run() // ends with 1 while it waits
		said = out.String()
		for line := range strings.Lines(said) {
			if matches.MatchString(line) {
				return strings.TrimSpace(line), nil
			}
		}
		select {
		case <-m.ctx.Done():
		case <-time.After(pollEvery):
		}
	}
	return "", fmt.Errorf("after a minute `stepgate explain %s` does not say %s, but:\n%s", app, what, said)
}

// files are the manifests of all Applications.
func (m *mistakes) files(mended bool) map[string]string {
	health, all := map[string]string{}, map[string]string{}
	for _, name := range m.played.broken {
		if !mended {
			health[name] = "Degraded"
		}
	}
	names := m.played.ends
	for _, l := range m.played.links {
		names = append(names[:len(names):len(names)], l.members()...)
	}
	for _, name := range names {
		state := health[name]
		if state == "" {
			state = "Healthy"
		}
		all[name+"/configmap.yaml"] = fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  health: %s\n", name, state)
	}
	return all
}

// create creates a link as somebody who hears warnings.
func (m *mistakes) create(l mistaken) error {
	admin, err := m.ClientWithWarnings("", m)
	if err != nil {
		return err
	}
	return admin.Create(m.ctx, l.object(on, m.repo.URL, l.after))
}

// annotate has an Application come after another one, or after none.
func (m *mistakes) annotate(name, after string) error {
	admin, err := m.ClientWithWarnings("", m)
	if err != nil {
		return err
	}
	value := "null"
	if after != "" {
		value = fmt.Sprintf("%q", after)
	}
	return admin.Patch(m.ctx, m.app(name), client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, settings.AfterAnnotation, value)))
}

// waitsThen waits until somebody waits, and has an Application come after another one then.
func (m *mistakes) waitsThen(waits, name, after string) error {
	if _, err := m.untilSaid(waits, "it comes after"); err != nil {
		return err
	}
	return m.annotate(name, after)
}

// remove deletes an Application once others wait for it.
func (m *mistakes) remove(name string) error {
	if _, err := m.untilSaid(m.played.waits, name+" .*Degraded"); err != nil {
		return err
	}
	return m.Admin.Delete(m.ctx, m.app(name))
}

// mend commits that everything is Healthy.
func (m *mistakes) mend() error {
	if _, err := m.repo.Commit(argocd.Main, m.files(true)); err != nil {
		return err
	}
	for _, name := range m.played.ends {
		if err := m.refreshNow(m.ctx, on, name); err != nil {
			return err
		}
	}
	return nil
}

func (m *mistakes) app(name string) *argo.Application {
	return &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(on), Name: name}}
}
