// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// start is one that stepgate's account tries: what stepgate would write, and a change of it.
type start struct {
	// spec changes what the Application says before that.
	spec func(*argo.ApplicationSpec)
	// revisions are what is started; nil for the commit that was compared.
	revisions []string
	change    func(*argo.Operation)
	// also changes more than the operation.
	also func(*argo.Application)
	// want is a part of the refusal; empty if the start is allowed.
	want string
}

const (
	digest    = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	onlyFull  = "may only start a full sync, initiatedBy stepgate"
	onlyOwn   = "may only start syncs of an Application's own sources"
	onlyOne   = "may only start syncs to one revision for each source"
	onlyFixed = "may only start syncs to commits, and to versions of charts and of OCI artifacts"
	onlyPrune = "may only start syncs that prune where"
	onlyOpts  = "may only start syncs with the sync options of the Application"
	onlyRetry = "may only start syncs with the retries of the Application"
)

func git(path string) argo.ApplicationSource {
	return argo.ApplicationSource{
		RepoURL: "https://github.com/infra-team/cluster-deployments.git", TargetRevision: "HEAD", Path: path,
	}
}

func chart(version string) argo.ApplicationSource {
	return argo.ApplicationSource{RepoURL: "https://charts.example.com", Chart: "guestbook", TargetRevision: version}
}

// of makes an Application have these sources.
func of(sources ...argo.ApplicationSource) func(*argo.ApplicationSpec) {
	return func(s *argo.ApplicationSpec) {
		s.Source, s.Sources = nil, sources
		if len(sources) == 1 {
			s.Source, s.Sources = &sources[0], nil
		}
	}
}

func policyOf(p argo.SyncPolicy) func(*argo.ApplicationSpec) {
	return func(s *argo.ApplicationSpec) { s.SyncPolicy = &p }
}

// hydrated makes an Application come from a branch of a source hydrator, in another repository if that is given.
func hydrated(repository string) func(*argo.ApplicationSpec) {
	return func(s *argo.ApplicationSpec) {
		s.Source = nil
		s.SourceHydrator = &argo.SourceHydrator{
			DrySource:  argo.DrySource{RepoURL: git("").RepoURL, TargetRevision: "HEAD", Path: "guestbook"},
			SyncSource: argo.SyncSource{TargetBranch: "env/dev", Path: "guestbook", RepoURL: repository},
		}
	}
}

func revision(text string) func(*argo.Operation) {
	return func(o *argo.Operation) { o.Sync.Revision = text }
}

// starts are the ways to write an operation, where stepgate starts syncs, each with the expected answer.
func starts() map[string]start {
	factor, commit := int64(3), guestbook.NewCommit
	pruning := policyOf(argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: new(true)}})
	options := policyOf(argo.SyncPolicy{SyncOptions: argo.SyncOptions{"CreateNamespace=true", "ServerSideApply=true"}})
	retrying := policyOf(argo.SyncPolicy{Retry: &argo.RetryStrategy{
		Limit: 2, Refresh: true, Backoff: &argo.Backoff{Duration: "5s", Factor: &factor, MaxDuration: "3m"},
	}})
	never := policyOf(argo.SyncPolicy{Retry: &argo.RetryStrategy{}})
	evil := argo.ApplicationSource{RepoURL: "https://evil.example.com/x.git", Path: "evil", TargetRevision: "main"}
	oci := argo.ApplicationSource{RepoURL: "oci://registry.example.com/guestbook", TargetRevision: "1.2.3", Path: "."}
	return map[string]start{
		"as stepgate does":   {},
		"another commit":     {change: revision("ffffffffffffffffffffffffffffffffffffffff")},
		"its source as well": {also: func(a *argo.Application) { a.Operation.Sync.Source = a.Spec.Source.DeepCopy() }},
		"a refresh and no start": {also: func(a *argo.Application) {
			a.Operation, a.Annotations = nil, map[string]string{argo.AnnotationKeyRefresh: "normal"}
		}},
		"a start and its spec":   {also: func(a *argo.Application) { a.Spec.Project = "other" }, want: ".spec"},
		"a start and a label":    {also: func(a *argo.Application) { a.Labels["x"] = "y" }, want: ".metadata.labels"},
		"a start and its status": {also: func(a *argo.Application) { a.Status.Health.Status = "Healthy" }, want: ".status"},
		"a start and another path": {also: func(a *argo.Application) {
			a.Operation.Sync.Source = a.Spec.Source.DeepCopy()
			a.Operation.Sync.Source.Path = "evil"
		}, want: onlyOwn},

		"manifests":       {change: func(o *argo.Operation) { o.Sync.Manifests = []string{"{}"} }, want: onlyFull},
		"some resources":  {change: func(o *argo.Operation) { o.Sync.Resources = []argo.SyncOperationResource{{Kind: "Secret", Name: "x"}} }, want: onlyFull},
		"without hooks":   {change: func(o *argo.Operation) { o.Sync.SyncStrategy = &argo.SyncStrategy{Apply: &argo.SyncStrategyApply{}} }, want: onlyFull},
		"a dry run":       {change: func(o *argo.Operation) { o.Sync.DryRun = true }, want: onlyFull},
		"a self-heal":     {change: func(o *argo.Operation) { o.Sync.SelfHealAttemptsCount = 1 }, want: onlyFull},
		"in another name": {change: func(o *argo.Operation) { o.InitiatedBy.Username = "alice" }, want: onlyFull},
		"as if by hand":   {change: func(o *argo.Operation) { o.InitiatedBy.Automated = false }, want: onlyFull},
		"nothing to do":   {change: func(o *argo.Operation) { o.Sync = nil }, want: onlyFull},

		"no revision":        {change: revision(""), want: onlyOne},
		"a branch":           {change: revision("HEAD"), want: onlyFixed},
		"a tag":              {change: revision("v1.2.3"), want: onlyFixed},
		"a part of a commit": {change: revision(commit[:7]), want: onlyFixed},
		"a pull request":     {change: revision("refs/pull/1/head"), want: onlyFixed},
		"one too many":       {change: func(o *argo.Operation) { o.Sync.Revisions = []string{commit} }, want: onlyOne},
		"another source":     {change: func(o *argo.Operation) { o.Sync.Source = &evil }, want: onlyOwn},
		"sources as well":    {change: func(o *argo.Operation) { o.Sync.Sources = argo.ApplicationSources{evil} }, want: onlyOwn},

		"a chart":                         {spec: of(chart("1.x")), revisions: []string{"1.2.3+build.4"}},
		"a chart, and a range":            {spec: of(chart("1.x")), revisions: []string{">=1"}, want: onlyFixed},
		"an OCI artifact":                 {spec: of(oci), revisions: []string{digest}},
		"a digest where there is git":     {revisions: []string{digest}, want: onlyFixed},
		"two sources":                     {spec: of(git("a"), chart("1.x")), revisions: []string{commit, "1.2.3"}},
		"two sources, one with a branch":  {spec: of(git("a"), chart("1.x")), revisions: []string{"main", "1.2.3"}, want: onlyFixed},
		"two sources, both with a name":   {spec: of(oci, git("a")), revisions: []string{"main", "main"}, want: onlyFixed},
		"two sources, one without":        {spec: of(git("a"), git("b")), revisions: []string{commit}, want: onlyOne},
		"two sources, another one":        {spec: of(git("a"), git("b")), revisions: []string{commit, commit}, change: func(o *argo.Operation) { o.Sync.Sources = argo.ApplicationSources{git("a"), evil} }, want: onlyOwn},
		"two sources, and one of its own": {spec: of(git("a"), git("b")), revisions: []string{commit, commit}, change: func(o *argo.Operation) { o.Sync.Source = &evil }, want: onlyOwn},
		"a hydrator": {spec: hydrated(""), change: func(o *argo.Operation) {
			o.Sync.Source = &argo.ApplicationSource{RepoURL: git("").RepoURL, Path: "guestbook", TargetRevision: "env/dev"}
		}},
		"a hydrator that writes elsewhere": {spec: hydrated("https://github.com/infra-team/hydrated.git"), change: func(o *argo.Operation) {
			o.Sync.Source = &argo.ApplicationSource{
				RepoURL: "https://github.com/infra-team/hydrated.git", Path: "guestbook", TargetRevision: "env/dev",
			}
		}},
		"a hydrator, another source": {spec: hydrated(""), change: func(o *argo.Operation) { o.Sync.Source = &evil }, want: onlyOwn},
		"a hydrator, another branch": {spec: hydrated(""), change: func(o *argo.Operation) {
			o.Sync.Source = &argo.ApplicationSource{RepoURL: git("").RepoURL, Path: "guestbook", TargetRevision: "env/prod"}
		}, want: onlyOwn},
		"a hydrator, and parameters": {spec: hydrated(""), change: func(o *argo.Operation) {
			o.Sync.Source = &argo.ApplicationSource{
				RepoURL: git("").RepoURL, Path: "guestbook", TargetRevision: "env/dev",
				Kustomize: &argo.ApplicationSourceKustomize{Images: argo.KustomizeImages{"x=evil"}},
			}
		}, want: onlyOwn},
		"a hydrator, the dry source": {spec: hydrated(""), change: func(o *argo.Operation) { s := git("guestbook"); o.Sync.Source = &s }, want: onlyOwn},

		"prune, as its policy has it":     {spec: pruning, change: func(o *argo.Operation) { o.Sync.Prune = true }},
		"prune":                           {change: func(o *argo.Operation) { o.Sync.Prune = true }, want: onlyPrune},
		"options, as its policy has them": {spec: options},
		"options":                         {change: func(o *argo.Operation) { o.Sync.SyncOptions = argo.SyncOptions{"Replace=true", "Force=true"} }, want: onlyOpts},
		"one option more":                 {spec: options, change: func(o *argo.Operation) { o.Sync.SyncOptions = append(o.Sync.SyncOptions, "Validate=false") }, want: onlyOpts},
		"no options":                      {spec: options, change: func(o *argo.Operation) { o.Sync.SyncOptions = nil }, want: onlyOpts},
		"retries, as its policy has them": {spec: retrying},
		"no retries, as its policy says":  {spec: never},
		"retries for ever":                {change: func(o *argo.Operation) { o.Retry.Limit = -1 }, want: onlyRetry},
		"retries without a pause":         {spec: retrying, change: func(o *argo.Operation) { o.Retry.Backoff = nil }, want: onlyRetry},
		"retries that its policy forbids": {spec: never, change: func(o *argo.Operation) { o.Retry.Limit = 5 }, want: onlyRetry},
		"retries of the newest":           {change: func(o *argo.Operation) { o.Retry.Refresh = true }, want: onlyRetry},
	}
}

// Where it starts syncs, stepgate's account may write what the Application's own spec says, and it ends none. Nobody
// serves the webhooks here: only the refusals before them count.
func TestTheAccountWritesOnlyTheSyncsThatStepgateStarts(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.CreateNamespace(ctx, "starting")).To(Succeed())
	set := guestbook.Set("starting")
	g.Expect(shared.Admin.Create(ctx, set)).To(Succeed())
	app, alone := guestbook.Application(set, "prod"), guestbook.Application(set, "dev")
	alone.OwnerReferences = nil
	for _, a := range []*argo.Application{app, alone} {
		g.Expect(shared.Admin.Create(ctx, a)).To(Succeed())
	}
	spec := app.Spec.DeepCopy()
	install(t, "stepgate", "starting", "webhook.failurePolicy=Ignore", "start.enabled=true", "waves.enabled=true")
	stepgate, err := client.New(account(t, "starting", "stepgate"), client.Options{
		Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	try := func(app *argo.Application, s start) error {
		changed := app.DeepCopy()
		if s.revisions == nil {
			s.revisions = []string{guestbook.NewCommit}
		}
		changed.Operation = argocd.NewOperation(app, set, s.revisions, "its turn has come")
		if s.change != nil {
			s.change(changed.Operation)
		}
		if s.also != nil {
			s.also(changed)
		}
		return stepgate.Patch(ctx, changed, client.MergeFrom(app), client.DryRunAll)
	}
	refused := starts()["manifests"]
	g.Eventually(func() error { return try(app, refused) }).Should(MatchError(ContainSubstring(refused.want)))
	for name, s := range starts() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := app.DeepCopy()
			app.Spec = *spec.DeepCopy()
			if s.spec != nil {
				s.spec(&app.Spec)
			}
			g.Expect(shared.Admin.Patch(ctx, app, client.MergeFrom(before))).To(Succeed())
			err := try(app, s)
			if s.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(And(ContainSubstring("ValidatingAdmissionPolicy 'stepgate'"), ContainSubstring(s.want))))
		})
	}
	refusal := MatchError(ContainSubstring("start and terminate syncs of the Applications of ApplicationSets"))
	g.Expect(try(alone, start{})).To(refusal)
	child := map[string]string{common.AnnotationKeyAppInstance: "platform:argoproj.io/Application:starting/" + alone.Name}
	for name, tc := range map[string]struct {
		annotations map[string]string
		policy      *argo.SyncPolicy
		want        types.GomegaMatcher
	}{
		"a child that Argo CD syncs":    {child, &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}, Succeed()},
		"one that people sync":          {child, nil, refusal},
		"its automated sync is off":     {child, &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Enabled: new(false)}}, refusal},
		"Argo CD syncs it, of nobody's": {nil, &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}, refusal},
	} {
		before := alone.DeepCopy()
		alone.Annotations, alone.Spec.SyncPolicy = tc.annotations, tc.policy
		g.Expect(shared.Admin.Patch(ctx, alone, client.MergeFrom(before))).To(Succeed())
		g.Expect(try(alone, start{})).To(tc.want, name)
	}
	before := app.DeepCopy()
	app.Operation = guestbook.RollingSync()
	g.Expect(shared.Admin.Patch(ctx, app, client.MergeFrom(before))).To(Succeed())
	for name, s := range map[string]start{
		"to end a sync":                     {also: func(a *argo.Application) { a.Operation = nil }},
		"to put its own in another's place": {},
	} {
		g.Expect(try(app, s)).To(MatchError(ContainSubstring("stepgate may only start")), name)
	}
}
