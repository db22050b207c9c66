// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/argorollouts"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
)

// The labels of the objects that verify.
const (
	revisionLabel = "stepgate.io/revision"
	verifies      = "2=jobs.batch?suite=smoke; 3=analysisruns.argoproj.io?check=smoke create=smoke"
)

// TestEvidence has step 2 wait for a Job, and step 3 for an AnalysisRun that stepgate creates and the controller of Argo
// Rollouts runs. The Job's end is written by the suite: no cluster here runs Pods.
func TestEvidence(t *testing.T) {
	about := report.Suite{
		Name: "e2e-evidence", Title: "steps that wait for a Job and for an AnalysisRun (`stepgate.io/verify`)",
	}
	modes := []mode{off, verifying}
	chosen.run(t, about, modes, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		if _, err := argorollouts.Start(ctx, s.Environment); err != nil {
			return "", err
		}
		if err := s.mayVerify(ctx); err != nil {
			return "", err
		}
		s.out.Line("| stepgate | steps that started before their evidence said yes | commits that were refused, and step 3 " +
			"deployed | from yes to the start: p50, worst |\n|---|---|---|---|")
		line, err := "e2e-evidence: argocd="+s.argo.Version, error(nil)
		for _, m := range modes {
			p, problem := s.playEvidence(ctx, m)
			if problem != nil {
				return "", fmt.Errorf("%s: %w", m, problem)
			}
			slices.Sort(p.waits)
			waits := "-"
			if len(p.waits) > 0 {
				waits = fmt.Sprintf("%.1f s, %.1f s", percentile(p.waits, 50).Seconds(), percentile(p.waits, 100).Seconds())
			}
			s.out.Line("| %s | %d of %d | %d | %s |", m, len(p.early), p.starts, len(p.refused), waits)
			line += fmt.Sprintf(" %s_early=%d %s_refused=%d", m, len(p.early), m, len(p.refused))
			switch bad := len(p.early) + len(p.refused); {
			case m == verifying && bad > 0:
				err = errors.Join(err, fmt.Errorf("early: %v; refused, and deployed: %v", p.early, p.refused))
			case m == off && (len(p.early) == 0 || len(p.refused) == 0):
				err = errors.Join(err, errors.New("nothing started before its evidence without stepgate"))
			}
		}
		return line, err
	})
}

// mayVerify gives the gate the rights that the chart gives it with config.verify.
func (s *suite) mayVerify(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: "verify"}
	read := []string{"get", "list", "watch"}
	if err := s.Admin.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: read},
		{APIGroups: []string{"argoproj.io"}, Resources: []string{"analysisruns"}, Verbs: append(read, "create")},
		{APIGroups: []string{"argoproj.io"}, Resources: []string{"analysistemplates"}, Verbs: []string{"get"}},
	}}); err != nil {
		return err
	}
	return s.Admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: verifying.gateName(), Name: verifying.gateName()}},
	})
}

// oracle answers the web metric of the AnalysisTemplate: each revision has its verdict, once somebody has given it.
type oracle struct {
	url string
	mu  sync.Mutex
	// said are the verdicts, and at is when each was first told.
	said map[string]string
	at   map[string]time.Time
}

func newOracle(ctx context.Context) (*oracle, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &oracle{url: "http://" + listener.Addr().String(), said: map[string]string{}, at: map[string]time.Time{}}
	server := &http.Server{Handler: o, ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return o, nil
}

// ServeHTTP answers {"ok": "yes"}, "no", or "wait".
func (o *oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	revision := strings.TrimPrefix(r.URL.Path, "/")
	said := cmp.Or(o.said[revision], "wait")
	if said == "yes" && o.at[revision].IsZero() {
		o.at[revision] = time.Now()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"ok": %q}`, said)
}

func (o *oracle) say(revision, verdict string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said[revision] = verdict
}

// since is when a revision was first told to be good; false if it never was.
func (o *oracle) since(revision string) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, told := o.at[revision]
	return at, told
}

// smokeTemplate measures what the oracle says, every second until that is yes or no.
func smokeTemplate(m mode, url string) *unstructured.Unstructured {
	template := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"args": []any{map[string]any{"name": "revision"}},
		"metrics": []any{map[string]any{
			"name": "smoke", "interval": "1s", "consecutiveSuccessLimit": int64(1), "inconclusiveLimit": int64(100),
			"successCondition": `result == "yes"`, "failureCondition": `result == "no"`,
			"provider": map[string]any{"web": map[string]any{"url": url + "/{{args.revision}}", "jsonPath": "{$.ok}"}},
		}},
	}}}
	template.SetAPIVersion("argoproj.io/v1alpha1")
	template.SetKind("AnalysisTemplate")
	template.SetNamespace(string(m))
	template.SetName("smoke")
	return template
}

// evidencePlayed is what came of some commits.
type evidencePlayed struct {
	// early are the starts of steps 2 and 3 before something had said yes to their commit, and refused are the commits
	// that were refused and that step 3 deployed.
	early, refused []string
	// waits are from that yes to the start.
	waits  []time.Duration
	starts int
	// yes is since when a commit may go to step 2, by the Jobs that the suite has ended.
	yes map[string]time.Time
}

func (s *suite) playEvidence(ctx context.Context, m mode) (p evidencePlayed, err error) {
	p.yes = map[string]time.Time{}
	oracle, err := newOracle(ctx)
	if err != nil {
		return p, err
	}
	repo, err := s.argo.NewRepository("evidence-" + string(m))
	if err != nil {
		return p, err
	}
	names := []string{"evidence-1", "evidence-2", "evidence-3"}
	commit := func(version string) (string, error) {
		files := map[string]string{}
		for _, name := range names {
			files[name+"/configmap.yaml"] = fmt.Sprintf(
				"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %q\n", name, version)
		}
		return repo.Commit(argocd.Main, files)
	}
	first, err := commit("1")
	if err != nil {
		return p, err
	}
	if err := s.Admin.Create(ctx, smokeTemplate(m, oracle.url)); err != nil {
		return p, err
	}
	oracle.say(first, "yes")
	if err := s.Admin.Create(ctx, verified(m, repo.URL, names)); err != nil {
		return p, err
	}
	if err := s.untilChain(ctx, m, names[:1], settled); err != nil {
		return p, fmt.Errorf("the installation of step 1: %w", err)
	}
	wait(ctx) // a Job of the second in which the Applications were created may be older than them
	if err := s.job(ctx, m, &p, first, true); err != nil {
		return p, err
	}
	if err := s.untilChain(ctx, m, names, settled); err != nil {
		return p, fmt.Errorf("the installation: %w", err)
	}
	for i, verdict := range []string{"yes", "no", "yes"} {
		if err := s.playVerdict(ctx, m, &p, oracle, fmt.Sprint(i+2), verdict, names, commit); err != nil {
			return p, fmt.Errorf("commit %d: %w", i+2, err)
		}
	}
	all, err := s.recorder.seen(string(m), map[string]bool{names[0]: true, names[1]: true, names[2]: true})
	p.judge(all, names, first, oracle)
	return p, err
}

// standsStill is how long nothing may happen, where something is to wait.
const standsStill = 4 * time.Second

func wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(standsStill):
	}
}

// playVerdict lets a commit land, on which the Job first says no, and then yes, and the AnalysisRun the verdict.
func (s *suite) playVerdict(
	ctx context.Context, m mode, p *evidencePlayed, o *oracle, version, verdict string, names []string,
	commit func(string) (string, error),
) error {
	landed, err := commit(version)
	if err != nil {
		return err
	}
	for _, name := range slices.Backward(names) {
		if err := s.refreshNow(ctx, m, name); err != nil {
			return err
		}
	}
	at := func(o observer.Observation) bool { return doneAt(o, landed) }
	if err := s.untilChain(ctx, m, names[:1], at); err != nil {
		return err
	}
	wait(ctx) // nothing speaks of it
	if err := s.job(ctx, m, p, landed, false); err != nil {
		return err
	}
	wait(ctx) // it is refused
	if err := s.Admin.DeleteAllOf(ctx, &batchv1.Job{}, client.InNamespace(string(m)),
		client.MatchingLabels{revisionLabel: landed},
		client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	if err := s.job(ctx, m, p, landed, true); err != nil {
		return err
	}
	if err := s.untilChain(ctx, m, names[1:2], at); err != nil {
		return err
	}
	wait(ctx) // the AnalysisRun runs
	o.say(landed, verdict)
	if verdict == "no" {
		wait(ctx)
		return nil
	}
	return s.untilChain(ctx, m, names[2:], at)
}

// job creates a Job that speaks of a commit, and ends it.
func (s *suite) job(ctx context.Context, m mode, p *evidencePlayed, commit string, good bool) error {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: string(m), GenerateName: "smoke-", Labels: map[string]string{"suite": "smoke", revisionLabel: commit},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "smoke", Image: "smoke"}},
		}}},
	}
	if err := s.Admin.Create(ctx, job); err != nil {
		return err
	}
	now := metav1.Now()
	job.Status.StartTime = &now
	ended, because := batchv1.JobFailed, batchv1.JobFailureTarget
	if good {
		ended, because, job.Status.CompletionTime = batchv1.JobComplete, batchv1.JobSuccessCriteriaMet, &now
	}
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: because, Status: corev1.ConditionTrue}, {Type: ended, Status: corev1.ConditionTrue},
	}
	if good {
		p.yes[commit] = time.Now()
	}
	return s.Admin.Status().Update(ctx, job)
}

// judge looks at each start of a sync of steps 2 and 3: something has to have said yes by then to the commit that the
// sync deploys, as Argo CD tells it. A sync starts when its operation is set. The commit that was installed does not
// count: that is no rollout.
func (p *evidencePlayed) judge(all []observer.Observation, names []string, installed string, oracle *oracle) {
	started, operating, since := map[string]bool{}, map[string]bool{}, map[string]time.Time{}
	for _, o := range all {
		if o.OperationSet && !operating[o.Name] {
			since[o.Name] = o.At
		}
		operating[o.Name] = o.OperationSet
		commit := o.Operated.Revision
		step, key := slices.Index(names, o.Name), o.Name+" "+commit
		if step < 1 || commit == "" || commit == installed || started[key] || o.OperationSet && !o.TakenUp() {
			continue
		}
		started[key] = true
		p.starts++
		at, told := p.yes[commit], true
		if step == 2 {
			at, told = oracle.since(commit)
		}
		switch {
		case !told && step == 2 && oracle.verdict(commit) == "no":
			p.refused = append(p.refused, key)
		case !told, since[o.Name].Before(at):
			p.early = append(p.early, key)
		default:
			p.waits = append(p.waits, since[o.Name].Sub(at))
		}
	}
}

func (o *oracle) verdict(revision string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said[revision]
}

// verified is an ApplicationSet of three steps of one Application each.
func verified(m mode, url string, names []string) *argo.ApplicationSet {
	list, rollout := &argo.ListGenerator{}, &argo.ApplicationSetRolloutStrategy{}
	for i, name := range names {
		element, _ := json.Marshal(map[string]string{"name": name, "step": fmt.Sprint(i + 1)}) // a map of texts
		list.Elements = append(list.Elements, apiextensionsv1.JSON{Raw: element})
		rollout.Steps = append(rollout.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{
				{Key: stepLabel, Operator: "In", Values: []string{fmt.Sprint(i + 1)}},
			},
		})
	}
	return &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: string(m), Name: "evidence", Annotations: map[string]string{"stepgate.io/verify": verifies},
		},
		Spec: argo.ApplicationSetSpec{
			GoTemplate: true, Generators: []argo.ApplicationSetGenerator{{List: list}},
			Strategy: &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: rollout},
			Template: argo.ApplicationSetTemplate{
				ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{
					Name: "{{.name}}", Labels: map[string]string{stepLabel: "{{.step}}"},
				},
				Spec: argo.ApplicationSpec{
					Project:     "default",
					Source:      &argo.ApplicationSource{RepoURL: url, Path: "{{.name}}", TargetRevision: argocd.Main},
					Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: m.destination()},
				},
			},
		},
	}
}
