// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
)

func monorepo(applications int) shape {
	third := applications / 3
	return shape{
		key: "mono", title: fmt.Sprintf("A commit to a monorepo changes one Application in step 4, after %d in steps 1 to 3", 3*third),
		sets: 1, steps: []int{third, third, third, 1},
	}
}

// monorepoResult is what a commit to a monorepo cost.
type monorepoResult struct {
	key string
	// opened is the time from the commit until the Application in the last step started, and foundAfter until one in
	// step 1 did.
	opened, foundAfter time.Duration
	// refreshes are stepgate's, until the last step started; until one in step 1 started, foundRefreshes.
	refreshes, foundRefreshes int
	// compared are the Applications of earlier steps that were compared with the commit.
	compared, early int
	git             gitCost
	cpu             map[string]time.Duration
}

// gitCost is the work of the repo-server.
type gitCost struct{ generated, cached, resolved, fetched float64 }

// playMonorepo commits a change of the last step to the repository of all Applications, with the gate. Argo CD is told
// about the changed Applications alone, as its git webhook does with the annotation manifest-generate-paths, unless
// said otherwise.
func (s *suite) playMonorepo(ctx context.Context, o sizeOptions, t *sizeTotals) {
	f := newFleet(ctx, s, monorepo(o.applications), on, o.limit)
	f.prepare()
	defer f.uninstall()
	s.out.Line("\n%s\n%s", f.title, monorepoHeader)
	last := len(f.steps) - 1
	target, first := f.in(last), f.in(0)
	play := func(key, title string, changed, told []*member) {
		r := f.commitToMonorepo(changed, told)
		r.key = key
		t.monorepo = append(t.monorepo, *r)
		s.out.Line("%s", r.row(title))
		if r.early > 0 {
			t.problems = append(t.problems, fmt.Errorf("%s: %d early starts", title, r.early))
		}
	}
	play("mono", "the changed Application is refreshed", target, target)
	play("mono_all", "all are refreshed, as by a webhook without manifest-generate-paths", target,
		f.inOrderOf(inNameOrder))
	f.ignoreOthers()
	play("mono_paths", "with manifest-generate-paths, the changed one is refreshed", target, target)
	changed := []*member{first[len(first)-1], target[0]}
	play("mono_step1", "the same, and one in step 1 is changed, too, and not refreshed", changed, target)
}

// ignoreOthers adds the annotation manifest-generate-paths to all Applications.
func (f *fleet) ignoreOthers() {
	f.ignoresOthers = true
	for name, members := range f.bySet {
		set := f.applicationSet(name, members)
		script.Must(f.Admin.Patch(f.ctx, set, client.Merge))
	}
	f.untilEach("manifest-generate-paths", f.members, func(_ *member, app *argo.Application) bool {
		return app.Annotations[argo.AnnotationKeyManifestGeneratePaths] != ""
	})
	f.refreshAtOnce(f.members...)
	f.settle("the comparison with manifest-generate-paths")
}

// commitToMonorepo commits a change of some members, lets Argo CD refresh some, and waits until those that have changed
// are deployed.
func (f *fleet) commitToMonorepo(changed, told []*member) *monorepoResult {
	before, cost := f.gitCost(), f.startCost()
	f.begin()
	f.versions++
	f.version(fmt.Sprint(f.versions), changed)
	f.refreshAtOnce(told...)
	target := changed[len(changed)-1]
	f.untilEach("the commit in step 4", []*member{target}, (*member).atNewest)
	r := &monorepoResult{cpu: cost.end(), git: f.gitCost().since(before)}
	for _, s := range f.judgeSets() {
		at := s.At.Sub(f.began)
		switch {
		case s.OutOfOrder():
			r.early++
		case s.Application == target.name && r.opened == 0:
			r.opened = at
		case s.Step == 0 && r.foundAfter == 0:
			r.foundAfter = at
		}
	}
	r.refreshes = f.countWrites(f.began, f.began.Add(r.opened)).refreshes
	r.foundRefreshes = f.countWrites(f.began, f.began.Add(r.foundAfter)).refreshes
	for _, m := range f.members {
		if app := f.live(m); m.step < target.step && app != nil && app.Status.Sync.Revision == m.revision {
			r.compared++
		}
	}
	// The next commit finds all of them compared with this one.
	f.refreshAtOnce(f.members...)
	f.settle("the comparison of all")
	return r
}

// gitCost reads what the repo-server has done so far.
func (s *suite) gitCost() gitCost {
	log := string(script.Get(os.ReadFile(s.argo.Log(argocd.RepoServer))))
	url := script.Get(s.argo.RepoServerMetrics())
	const requests = "argocd_git_request_total"
	return gitCost{
		// The repo-server looks before it takes its lock, and once more under it.
		generated: float64(strings.Count(log, `msg="manifest cache miss"`)) / 2, cached: float64(strings.Count(log, `msg="manifest cache hit"`)),
		resolved: script.Get(installed.Metric(context.Background(), url, requests, "request_type", "ls-remote")),
		fetched:  script.Get(installed.Metric(context.Background(), url, requests, "request_type", "fetch")),
	}
}

func (g gitCost) since(before gitCost) gitCost {
	return gitCost{
		g.generated - before.generated, g.cached - before.cached, g.resolved - before.resolved, g.fetched - before.fetched,
	}
}

const monorepoHeader = "| what Argo CD is told | starts after | refreshes by stepgate | earlier Applications " +
	"compared | early | in step 1 starts after | refreshes until then | manifests generated | from the cache | ls-remote | fetch | CPU s: repo-server | application controller | ApplicationSet controller | API server | stepgate |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"

func (r *monorepoResult) row(title string) string {
	cells := []string{
		title, inSeconds(r.opened), fmt.Sprint(r.refreshes), fmt.Sprint(r.compared), fmt.Sprint(r.early),
		inSeconds(r.foundAfter), fmt.Sprint(r.foundRefreshes),
	}
	for _, n := range []float64{r.git.generated, r.git.cached, r.git.resolved, r.git.fetched} {
		cells = append(cells, fmt.Sprintf("%.0f", n))
	}
	for _, name := range []string{"argocd-repo-server", "argocd-application-controller",
		"argocd-applicationset-controller", "kube-apiserver", "stepgate"} {
		cells = append(cells, fmt.Sprintf("%.1f", r.cpu[name].Seconds()))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}
