// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/webhook/settings"
)

// link is an ApplicationSet of a chain with its Applications, or an Application that no ApplicationSet controls.
type link struct {
	name  string
	apps  []string
	alone bool
}

// members are the names of its Applications.
func (l link) members() []string {
	if l.alone {
		return []string{l.name}
	}
	return l.apps
}

// chain is in the order in which it has to go: each link comes after the one before. Argo CD syncs all of them by itself.
func chain() []link {
	return []link{
		{name: "infra", apps: []string{"infra-a", "infra-b"}}, {name: "platform", apps: []string{"platform-a"}},
		{name: "middle", alone: true}, {name: "shop", apps: []string{"shop-a", "shop-b"}}, {name: "last", alone: true},
	}
}

// TestAfter lets a commit change a chain of three ApplicationSets and two Applications, of which the last hears first.
func TestAfter(t *testing.T) {
	about := report.Suite{
		Name: "e2e-after", Title: "a commit to a chain of three ApplicationSets and two Applications (`stepgate.io/after`)",
	}
	chosen.run(t, about, []mode{off, on}, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		if err := s.argo.Restart(ctx, argocd.Settings{Resync: longResync, Unordered: true}); err != nil {
			return "", err
		}
		s.out.Line("| stepgate | starts out of order | links | time from the commit to the end | from the last one " +
			"done to the start: p50, worst |\n|---|---|---|---|---|")
		line, err := "e2e-after: argocd="+s.argo.Version, error(nil)
		for _, m := range []mode{off, on} {
			played, problem := s.playChain(ctx, m)
			if problem != nil {
				return "", fmt.Errorf("%s: %w", m, problem)
			}
			slices.Sort(played.waits)
			s.out.Line("| %s | %d | %d | %.1f s | %.1f s, %.1f s |", m, len(played.early), len(chain()), played.took.Seconds(),
				percentile(played.waits, 50).Seconds(), percentile(played.waits, 100).Seconds())
			line += fmt.Sprintf(" %s_out_of_order=%d", m, len(played.early))
			switch {
			case m == on && len(played.early) > 0:
				err = errors.Join(err, fmt.Errorf("out of order with stepgate: %v", played.early))
			case m == off && len(played.early) == 0:
				err = errors.Join(err, errors.New("nothing was out of order without stepgate"))
			}
		}
		return line, err
	})
}

// TestTracks lets a commit that breaks one of two apps land in all steps, where stepgate starts what is due. With tracks, an
// ApplicationSet comes after the one that is called apart: of it, each app waits for the same app.
func TestTracks(t *testing.T) {
	about := report.Suite{
		Name: "e2e-tracks", Title: "a commit that breaks one of two apps in its first step (`stepgate.io/track`)",
	}
	chosen.run(t, about, []mode{starting}, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		s.out.Line("| tracks | deployed the commit | did not |\n|---|---|---|")
		line, err := "e2e-tracks: argocd="+s.argo.Version, error(nil)
		for _, name := range []string{"together", "apart"} {
			want := map[string][]string{
				"together": {"together-a-1", "together-b-1"},
				"apart":    {"apart-a-1", "apart-a-2", "apart-a-3", "apart-b-1", "behind-a-1"},
			}[name]
			deployed, not, problem := s.playTracks(ctx, name, want)
			if problem != nil {
				return "", fmt.Errorf("%s: %w", name, problem)
			}
			s.out.Line("| %s | %v | %v |", name, deployed, not)
			line += fmt.Sprintf(" %s=%d", name, len(deployed))
			if !slices.Equal(deployed, want) {
				err = errors.Join(err, fmt.Errorf("%s: deployed %v, not %v", name, deployed, want))
			}
		}
		return line, err
	})
}

// playTracks returns who has deployed a commit that makes app b Degraded in step 1, once all that are wanted have, and
// everything has stood still for a while.
func (s *suite) playTracks(ctx context.Context, name string, want []string) (deployed, not []string, err error) {
	repo, err := s.argo.NewRepository("tracks-" + name)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	files := func(version string) map[string]string {
		all := map[string]string{}
		names = nil
		for _, member := range trackMembers(name) {
			health := "Healthy"
			if version == "2" && member == name+"-b-1" {
				health = "Degraded"
			}
			names = append(names, member)
			all[member+"/configmap.yaml"] = fmt.Sprintf(
				"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %q\n  health: %s\n", member, version, health)
		}
		return all
	}
	if _, err := repo.Commit(argocd.Main, files("1")); err != nil {
		return nil, nil, err
	}
	for _, set := range []string{name, "behind"} {
		own := slices.DeleteFunc(slices.Clone(names), func(member string) bool { return !strings.HasPrefix(member, set+"-") })
		if len(own) == 0 {
			continue
		}
		if err := s.Admin.Create(ctx, tracks(set, repo.URL, own)); err != nil {
			return nil, nil, err
		}
	}
	if err := s.untilChain(ctx, starting, names, func(o observer.Observation) bool {
		return o.Synced && o.Health == "Healthy" && !o.OperationSet
	}); err != nil {
		return nil, nil, fmt.Errorf("the installation: %w", err)
	}
	commit, err := repo.Commit(argocd.Main, files("2"))
	if err != nil {
		return nil, nil, err
	}
	for _, member := range slices.Backward(names) {
		if err := s.refreshNow(ctx, starting, member); err != nil {
			return nil, nil, err
		}
	}
	has := func(o observer.Observation) bool {
		return o.Synced && o.Compared.Revision == commit && !o.OperationSet && o.Operated.Revision == commit
	}
	problem := s.untilChain(ctx, starting, want, has)
	select {
	case <-ctx.Done():
	case <-time.After(15 * time.Second): // nothing else may follow
	}
	for _, member := range names {
		o, err := observer.Observe(s.recorder.app(string(starting), member), false, time.Now())
		if err != nil {
			return nil, nil, err
		}
		if o.Operated.Revision == commit || o.OperationSet {
			deployed = append(deployed, member)
		} else {
			not = append(not, member)
		}
	}
	return deployed, not, problem
}

// trackMembers are the names of all Applications of a rollout by tracks.
func trackMembers(name string) (members []string) {
	for _, app := range []string{"a", "b"} {
		for step := range 3 {
			members = append(members, fmt.Sprintf("%s-%s-%d", name, app, step+1))
		}
	}
	if name == "apart" {
		members = append(members, "behind-a-1", "behind-b-1")
	}
	return members
}

// tracks is an ApplicationSet of three steps of two apps. The one that is called apart has a track for each app, and so has
// the one that is called behind, which comes after it.
func tracks(name, url string, names []string) *argo.ApplicationSet {
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: string(starting), Name: name}}
	switch name {
	case "apart":
		set.Annotations = map[string]string{settings.TrackAnnotation: "app"}
	case "behind":
		set.Annotations = map[string]string{settings.TrackAnnotation: "app", settings.AfterAnnotation: "apart"}
	}
	list, rollout := &argo.ListGenerator{}, &argo.ApplicationSetRolloutStrategy{}
	for _, member := range names {
		app, step := member[len(member)-3:len(member)-2], member[len(member)-1:]
		element, _ := json.Marshal(map[string]string{"name": member, "app": app, "step": step}) // a map of texts
		list.Elements = append(list.Elements, apiextensionsv1.JSON{Raw: element})
	}
	for _, step := range []string{"1", "2", "3"} {
		rollout.Steps = append(rollout.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: stepLabel, Operator: "In", Values: []string{step}}},
		})
	}
	set.Spec = argo.ApplicationSetSpec{
		GoTemplate: true, Generators: []argo.ApplicationSetGenerator{{List: list}},
		Strategy: &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: rollout},
		Template: argo.ApplicationSetTemplate{
			ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{
				Name: "{{.name}}", Labels: map[string]string{stepLabel: "{{.step}}", "app": "{{.app}}"},
			},
			Spec: argo.ApplicationSpec{
				Project:     "default",
				Source:      &argo.ApplicationSource{RepoURL: url, Path: "{{.name}}", TargetRevision: argocd.Main},
				Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: starting.destination()},
			},
		},
	}
	return set
}

// refreshNow asks for a comparison of an Application.
func (s *suite) refreshNow(ctx context.Context, m mode, name string) error {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(m), Name: name}}
	patch := []byte(`{"metadata":{"annotations":{"` + argo.AnnotationKeyRefresh + `":"normal"}}}`)
	return s.Admin.Patch(ctx, app, client.RawPatch(types.MergePatchType, patch))
}

// chainPlayed is what came of a commit.
type chainPlayed struct {
	// early are the starts before something was done that they come after.
	early []string
	// waits are from the moment at which that was done to the start.
	waits []time.Duration
	took  time.Duration
}

func (s *suite) playChain(ctx context.Context, m mode) (played chainPlayed, err error) {
	repo, err := s.argo.NewRepository("chain-" + string(m))
	if err != nil {
		return played, err
	}
	if _, err := repo.Commit(argocd.Main, chainFiles("1")); err != nil {
		return played, err
	}
	for i, l := range chain() {
		after := ""
		if i > 0 {
			after = chain()[i-1].name
		}
		if err := s.Admin.Create(ctx, l.object(m, repo.URL, after)); err != nil {
			return played, err
		}
	}
	var names []string
	for _, l := range chain() {
		names = append(names, l.members()...)
	}
	if err := s.untilChain(ctx, m, names, settled); err != nil {
		return played, fmt.Errorf("the installation: %w", err)
	}
	began := time.Now()
	commit, err := repo.Commit(argocd.Main, chainFiles("2"))
	if err != nil {
		return played, err
	}
	slices.Reverse(names)
	for _, name := range names {
		if err := s.refreshNow(ctx, m, name); err != nil {
			return played, err
		}
	}
	if err := s.untilChain(ctx, m, names, func(o observer.Observation) bool { return doneAt(o, commit) }); err != nil {
		return played, fmt.Errorf("the commit: %w", err)
	}
	played.took = time.Since(began)
	all, err := s.recorder.seen(string(m), map[string]bool{
		"infra-a": true, "infra-b": true, "platform-a": true, "middle": true, "shop-a": true, "shop-b": true, "last": true,
	})
	played.judge(all, commit)
	return played, err
}

// doneAt reports whether an Application has deployed a commit, and is Healthy and Synced with it.
func settled(o observer.Observation) bool {
	return o.Synced && o.Health == "Healthy" && !o.OperationSet
}

func doneAt(o observer.Observation, commit string) bool {
	return o.Synced && o.Compared.Revision == commit && o.Health == "Healthy" && !o.OperationSet &&
		o.Phase == "Succeeded" &&
		o.Operated.Revision == commit
}

// judge looks at each start of a sync at a commit: everything of the link before has to be done by then. It goes by the
// order of the API server's events.
func (p *chainPlayed) judge(all []observer.Observation, commit string) {
	before := map[string][]string{}
	for i, l := range chain() {
		for _, name := range l.members() {
			if i > 0 {
				before[name] = chain()[i-1].members()
			}
		}
	}
	done, started := map[string]time.Time{}, map[string]bool{}
	for _, o := range all {
		if o.OperationSet && o.Compared.Revision == commit && !started[o.Name] {
			started[o.Name] = true
			last := time.Time{}
			for _, name := range before[o.Name] {
				if done[name].IsZero() {
					p.early = append(p.early, o.Name+" before "+name)
				}
				if done[name].After(last) {
					last = done[name]
				}
			}
			if !last.IsZero() {
				p.waits = append(p.waits, o.At.Sub(last))
			}
		}
		if done[o.Name].IsZero() && doneAt(o, commit) {
			done[o.Name] = o.At
		}
	}
}

// untilChain waits until each of these Applications was last seen so.
func (s *suite) untilChain(ctx context.Context, m mode, names []string, is func(observer.Observation) bool) error {
	var missing []string
	for until := time.Now().Add(3 * time.Minute); time.Now().Before(until) && ctx.Err() == nil; {
		missing = missing[:0]
		for _, name := range names {
			app := s.recorder.app(string(m), name)
			if app == nil {
				missing = append(missing, name)
				continue
			}
			if o, err := observer.Observe(app, false, time.Now()); err != nil || !is(o) {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
	return cmp.Or(ctx.Err(), fmt.Errorf("after 3 minutes still not there: %v", missing))
}

func chainFiles(version string) map[string]string {
	all := map[string]string{}
	for _, l := range chain() {
		for _, name := range l.members() {
			all[name+"/configmap.yaml"] = fmt.Sprintf(
				"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: chain-%s\ndata:\n  version: %q\n", name, version)
		}
	}
	return all
}

// object is the link in a namespace.
func (l link) object(m mode, url, after string) client.Object {
	annotations := map[string]string{}
	if after != "" {
		annotations[settings.AfterAnnotation] = after
	}
	meta := metav1.ObjectMeta{Namespace: string(m), Name: l.name, Annotations: annotations}
	spec := func(path string) argo.ApplicationSpec {
		return argo.ApplicationSpec{
			Project:     "default",
			Source:      &argo.ApplicationSource{RepoURL: url, Path: path, TargetRevision: argocd.Main},
			Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: m.destination()},
			SyncPolicy:  &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}},
		}
	}
	if l.alone {
		return &argo.Application{ObjectMeta: meta, Spec: spec(l.name)}
	}
	list := &argo.ListGenerator{}
	for _, name := range l.apps {
		element, _ := json.Marshal(map[string]string{"name": name}) // a map of texts
		list.Elements = append(list.Elements, apiextensionsv1.JSON{Raw: element})
	}
	return &argo.ApplicationSet{ObjectMeta: meta, Spec: argo.ApplicationSetSpec{
		GoTemplate: true, Generators: []argo.ApplicationSetGenerator{{List: list}},
		Template: argo.ApplicationSetTemplate{
			ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{Name: "{{.name}}"}, Spec: spec("{{.name}}"),
		},
	}}
}
