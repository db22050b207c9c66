package integration

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/release"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// stolen is a client with the token of stepgate's account.
func (r *rollout) stolen() client.Client {
	path, err := shared.Kubeconfig(r.ctx, r.replica.Name, r.replica.Name, "")
	r.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", path)
	r.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: shared.Admin.Scheme()})
	r.Expect(err).NotTo(HaveOccurred())
	return c
}

// attempt is a start that somebody tries who has stolen the token: what stepgate would write, and a change of it.
type attempt struct {
	// spec is what the Application says; nil for what it says anyway.
	spec func(*argo.ApplicationSpec)
	// revisions are what is started; nil for the commit that was compared.
	revisions []string
	change    func(*argo.Operation)
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
	return argo.ApplicationSource{RepoURL: "https://github.com/infra-team/cluster-deployments.git", TargetRevision: "HEAD", Path: path}
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

// attempts are starts of an Application of step 1, which the gate allows.
func attempts() map[string]attempt {
	factor, commit := int64(3), guestbook.NewCommit
	pruning := policyOf(argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: new(true)}})
	options := policyOf(argo.SyncPolicy{SyncOptions: argo.SyncOptions{"CreateNamespace=true", "ServerSideApply=true"}})
	retrying := policyOf(argo.SyncPolicy{Retry: &argo.RetryStrategy{Limit: 2, Refresh: true, Backoff: &argo.Backoff{Duration: "5s", Factor: &factor, MaxDuration: "3m"}}})
	never := policyOf(argo.SyncPolicy{Retry: &argo.RetryStrategy{}})
	evil := argo.ApplicationSource{RepoURL: "https://evil.example.com/x.git", Path: "evil", TargetRevision: "main"}
	oci := argo.ApplicationSource{RepoURL: "oci://registry.example.com/guestbook", TargetRevision: "1.2.3", Path: "."}
	return map[string]attempt{
		"as stepgate does": {},
		"another commit":   {change: revision("ffffffffffffffffffffffffffffffffffffffff")},

		"manifests":            {change: func(o *argo.Operation) { o.Sync.Manifests = []string{"{}"} }, want: onlyFull},
		"some resources":       {change: func(o *argo.Operation) { o.Sync.Resources = []argo.SyncOperationResource{{Kind: "Secret", Name: "x"}} }, want: onlyFull},
		"without hooks":        {change: func(o *argo.Operation) { o.Sync.SyncStrategy = &argo.SyncStrategy{Apply: &argo.SyncStrategyApply{}} }, want: onlyFull},
		"a dry run":            {change: func(o *argo.Operation) { o.Sync.DryRun = true }, want: onlyFull},
		"a self-heal":          {change: func(o *argo.Operation) { o.Sync.SelfHealAttemptsCount = 1 }, want: onlyFull},
		"in another name":      {change: func(o *argo.Operation) { o.InitiatedBy.Username = "alice" }, want: onlyFull},
		"as if by hand":        {change: func(o *argo.Operation) { o.InitiatedBy.Automated = false }, want: onlyFull},
		"nothing to do":        {change: func(o *argo.Operation) { o.Sync = nil }, want: onlyFull},
		"an Application alone": {spec: func(*argo.ApplicationSpec) {}, change: nil, want: "of the Applications of ApplicationSets"},

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
			o.Sync.Source = &argo.ApplicationSource{RepoURL: "https://github.com/infra-team/hydrated.git", Path: "guestbook", TargetRevision: "env/dev"}
		}},
		"a hydrator, another source": {spec: hydrated(""), change: func(o *argo.Operation) { o.Sync.Source = &evil }, want: onlyOwn},
		"a hydrator, another branch": {spec: hydrated(""), change: func(o *argo.Operation) {
			o.Sync.Source = &argo.ApplicationSource{RepoURL: git("").RepoURL, Path: "guestbook", TargetRevision: "env/prod"}
		}, want: onlyOwn},
		"a hydrator, and parameters": {spec: hydrated(""), change: func(o *argo.Operation) {
			o.Sync.Source = &argo.ApplicationSource{RepoURL: git("").RepoURL, Path: "guestbook", TargetRevision: "env/dev", Kustomize: &argo.ApplicationSourceKustomize{Images: argo.KustomizeImages{"x=evil"}}}
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

// TestAStolenTokenStartsWhatTheSpecSays and nothing else: ValidatingAdmissionPolicies restrict stepgate's account.
func TestAStolenTokenStartsWhatTheSpecSays(t *testing.T) {
	r := newRolloutWith(t, release.Options{Starts: true})
	stolen := r.stolen()
	try := func(a attempt) error {
		app := r.app("dev")
		revisions := a.revisions
		if revisions == nil {
			revisions = []string{guestbook.NewCommit}
		}
		was := app.DeepCopy()
		app.Operation = argocd.NewOperation(app, r.Set, revisions, "somebody has stolen the token")
		if a.change != nil {
			a.change(app.Operation)
		}
		return stolen.Patch(r.ctx, app, client.MergeFrom(was), client.DryRunAll)
	}
	all, before := attempts(), r.app("dev")
	r.Eventually(func() error { return try(all["manifests"]) }).Should(MatchError(ContainSubstring(onlyFull)),
		"a policy takes effect a moment after it was stored")
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(r.update("", "dev", func(app *argo.Application) {
				app.Spec, app.OwnerReferences = *before.Spec.DeepCopy(), before.OwnerReferences
				if a.spec != nil {
					a.spec(&app.Spec)
				}
				if name == "an Application alone" {
					app.OwnerReferences = []metav1.OwnerReference{}
				}
			})).To(Succeed())
			err := try(a)
			if a.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(a.want)))
		})
	}
}
