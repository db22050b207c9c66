// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
)

var sshURL = regexp.MustCompile("^(ssh://)?([^/:]*?)@[^@]+$")

// SourceKey identifies what two Applications have to share for their revisions to be comparable: repository, chart,
// targetRevision and the prefix of its tags. The path is left out: a commit is a commit of the whole repository.
func SourceKey(s argo.ApplicationSource) string {
	key := strings.Join([]string{normalizeRepoURL(s.RepoURL), s.Chart, cmp.Or(s.TargetRevision, "HEAD")}, " ")
	if s.TagPrefix != "" {
		key += " " + s.TagPrefix
	}
	return key
}

// dryKey identifies the dry source of a hydrated Application. Its revisions are comparable between Applications whose
// hydrated commits are in branches of their own.
func dryKey(h *argo.SourceHydrator) string {
	return policy.DryPrefix + SourceKey(argo.ApplicationSource{
		RepoURL: h.DrySource.RepoURL, TargetRevision: h.DrySource.TargetRevision,
	})
}

// normalizeRepoURL brings the spellings of one repository to one text. It mirrors NormalizeGitURLAllowInvalid of
// argo-cd v3.5.7, util/git/git.go; a test compares the two.
func normalizeRepoURL(repo string) string {
	text := strings.ToLower(strings.TrimSpace(repo))
	if sshURL.MatchString(text) && !strings.HasPrefix(text, "ssh://") {
		text = "ssh://" + strings.Replace(text, ":", "/", 1)
	}
	parsed, err := url.Parse(strings.TrimSuffix(text, ".git"))
	if err != nil || parsed.String() == "" {
		return repo
	}
	return strings.TrimPrefix(parsed.String(), "ssh://")
}

// Sources pairs sources with revisions, by position. A source without a revision has an empty one.
func Sources(sources argo.ApplicationSources, revisions []string) []policy.Source {
	paired := make([]policy.Source, 0, len(sources))
	for i, s := range sources {
		p := policy.Source{Key: shared(SourceKey(s))}
		if i < len(revisions) {
			p.Revision = shared(revisions[i])
		}
		paired = append(paired, p)
	}
	return paired
}

// oneOrMany brings Argo CD's two spellings, one source or many, to a list of sources.
func oneOrMany(one argo.ApplicationSource, many argo.ApplicationSources) argo.ApplicationSources {
	if len(many) > 0 || one.IsZero() {
		return many
	}
	return argo.ApplicationSources{one}
}

// revisions brings Argo CD's two spellings, one revision or many, to a list of revisions.
func revisions(one string, many []string) []string {
	if len(many) > 0 || one == "" {
		return many
	}
	return []string{one}
}
