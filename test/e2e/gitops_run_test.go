// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// deploysWithin bounds the wait for Argo CD to deploy a commit. On a busy machine that has taken more than a minute.
const deploysWithin = 3 * time.Minute

// gitOpsPage has the objects of docs/gitops.md, and the table of what Argo CD does with them, which is gitops.md here.
type gitOpsPage struct{ application, applicationSet, table string }

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

func readGitOpsPage(root string) (*gitOpsPage, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "gitops.md"))
	if err != nil {
		return nil, err
	}
	table, err := os.ReadFile(filepath.Join(root, "test", "e2e", "gitops.md"))
	if err != nil {
		return nil, err
	}
	p := &gitOpsPage{table: string(table)}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
		switch {
		case strings.Contains(block[1], "kind: ApplicationSet\nmetadata:"):
			p.applicationSet = block[1]
		case strings.Contains(block[1], "kind: Application\nmetadata:"):
			p.application = block[1]
		}
	}
	if p.application == "" || p.applicationSet == "" {
		return nil, errors.New("docs/gitops.md does not show an Application and an ApplicationSet")
	}
	return p, nil
}

// read decodes a block of the page, with the names and the addresses of a family in place of those that the page has.
func (p *gitOpsPage) read(block string, f *family) *unstructured.Unstructured {
	block = strings.NewReplacer(
		"https://example.com/guestbook.git", f.manifests.URL, "https://example.com/rollouts.git", f.sets.URL,
		"namespace: argocd", fmt.Sprintf("namespace: %q", f.mode), "namespace: '{{.env}}'", "namespace: "+f.mode.destination(),
		"guestbook", f.name(), "name: rollouts", "name: "+f.name(),
	).Replace(block)
	o := &unstructured.Unstructured{}
	script.Must(yaml.Unmarshal([]byte(block), &o.Object))
	return o
}

func (p *gitOpsPage) set(f *family, name string) *unstructured.Unstructured {
	return p.read(strings.ReplaceAll(p.applicationSet, ": guestbook", ": "+name), f)
}

// install commits everything, creates the parent, and waits until all that it deploys is deployed.
func (f *family) install() {
	f.git = map[string]string{}
	f.sets, f.manifests = script.Get(f.argo.NewRepository(f.repository("sets"))),
		script.Get(f.argo.NewRepository(f.repository("manifests")))
	manifests := files{}
	for _, env := range environments {
		m := member{name: f.name() + "-" + env, version: "1", source: source{path: "envs/" + env}}
		for path, text := range m.file("Healthy") {
			manifests[path] = text
		}
	}
	f.revision = script.Get(f.manifests.Commit("main", manifests))
	revision := f.push()
	app := f.page.read(f.page.application, f)
	script.Must(f.apply(app))
	script.Must(f.Admin.Create(f.ctx, app))
	f.deploy(revision)
	script.Must(f.within(deploysWithin, func() bool {
		for _, env := range environments {
			if f.recorder.app(string(f.mode), f.name()+"-"+env) == nil {
				return false
			}
		}
		return true
	}))
}

func (f *family) repository(name string) string { return string(f.mode) + "-" + f.name() + "-" + name }

// deploy waits until the parent has synced a commit.
func (f *family) deploy(revision string) {
	f.sync(revision, func(o *argo.OperationState) bool { return o.Phase == "Succeeded" })
}

// sync has the parent compared with a commit, and waits until its sync of the commit is as it should be. Argo CD may
// overlook a request: see refreshed.
func (f *family) sync(revision string, as func(*argo.OperationState) bool) {
	app := &argo.Application{}
	app.Namespace, app.Name = string(f.mode), f.name()
	asked, seen := time.Time{}, ""
	err := f.within(deploysWithin, func() bool {
		if time.Since(asked) > refreshWithin {
			asked = time.Now()
			for _, value := range []string{"", "normal"} {
				script.Must(f.Admin.Patch(f.ctx, app.DeepCopy(), annotation(argo.AnnotationKeyRefresh, value)))
			}
		}
		live := f.recorder.app(app.Namespace, app.Name)
		if live == nil || live.Status.OperationState == nil || live.Status.OperationState.SyncResult == nil {
			return false
		}
		last := live.Status.OperationState
		seen = fmt.Sprintf("compared with %s, refresh %q, operation set %v, last %s of %s: %s", live.Status.Sync.Revision,
			live.Annotations[argo.AnnotationKeyRefresh], live.Operation != nil, last.Phase, last.SyncResult.Revision,
			last.Message)
		return last.SyncResult.Revision == revision && as(last)
	})
	script.Mustf(err, "sync of %s at %s: %s", f.name(), revision, seen)
}

// annotate sets an annotation of an ApplicationSet by hand, or removes it if the value is empty.
func (f *family) annotate(set, key, value string) {
	w := &waiting{rollout: newRollout(f.ctx, f.suite, scenario{key: set}, f.mode)}
	_, err := w.annotateAs(approver, key, value)
	script.Mustf(err, "%s=%s", key, value)
}

// annotations are those of an ApplicationSet that begin with stepgate's prefix.
func (f *family) annotations(name string) map[string]string {
	set := &argo.ApplicationSet{}
	script.Must(f.Admin.Get(f.ctx, types.NamespacedName{Namespace: string(f.mode), Name: name}, set))
	found := map[string]string{}
	for key, value := range set.Annotations {
		if strings.HasPrefix(key, prefix) {
			found[key] = value
		}
	}
	return found
}

func (f *family) within(limit time.Duration, condition func() bool) error {
	return eventually.SucceedsWithin(f.ctx, limit, func() error {
		if !condition() {
			return errors.New("it did not happen")
		}
		return nil
	})
}

// measureGitOps plays all parents at once, with the gate if there is one. Each has to come out as the table says.
func (s *suite) measureGitOps(ctx context.Context, chosen []parent, modes []mode) error {
	page, err := readGitOpsPage(s.Root)
	if err != nil {
		return err
	}
	var all []*family
	var group sync.WaitGroup
	began := time.Now()
	for _, p := range chosen {
		f := &family{suite: s, parent: p, ctx: ctx, mode: off, page: page}
		if slices.Contains(modes, conditional) {
			f.mode = conditional
		}
		all = append(all, f)
		group.Go(func() { f.problem = script.Run(f.play) })
	}
	group.Wait()
	s.out.Line("\nGitOps, after %.0fs: what Argo CD does with annotations of an ApplicationSet that it deploys.",
		time.Since(began).Seconds())
	s.out.Line("%s\n|---|---|---|---|---|---|---|", rowHeading)
	var problems []error
	for _, f := range all {
		if f.problem != nil {
			problems = append(problems, fmt.Errorf("gitops, %s: %w", f.key, f.problem))
			continue
		}
		s.out.Line("%s", f.row())
		if !strings.Contains(page.table, f.row()+"\n") {
			problems = append(problems, fmt.Errorf("test/e2e/gitops.md does not say this: %s", f.row()))
		}
	}
	return errors.Join(problems...)
}
