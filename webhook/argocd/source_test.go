// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"math/rand/v2"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/git"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

func TestSourceKey(t *testing.T) {
	base := argo.ApplicationSource{RepoURL: "https://git.example/org/repo", TargetRevision: "main"}
	with := func(edit func(*argo.ApplicationSource)) argo.ApplicationSource { s := base; edit(&s); return s }
	for name, row := range map[string]struct {
		other argo.ApplicationSource
		same  bool
	}{
		"itself":                   {other: base, same: true},
		"another path":             {other: with(func(s *argo.ApplicationSource) { s.Path = "other" }), same: true},
		"another name and ref":     {other: with(func(s *argo.ApplicationSource) { s.Name, s.Ref = "n", "r" }), same: true},
		"other Helm values":        {other: with(func(s *argo.ApplicationSource) { s.Helm = &argo.ApplicationSourceHelm{Values: "a: 1"} }), same: true},
		"with .git":                {other: with(func(s *argo.ApplicationSource) { s.RepoURL += ".git" }), same: true},
		"in capitals, with spaces": {other: with(func(s *argo.ApplicationSource) { s.RepoURL = " HTTPS://Git.Example/Org/Repo " }), same: true},
		"another repository":       {other: with(func(s *argo.ApplicationSource) { s.RepoURL += "2" })},
		"over ssh":                 {other: with(func(s *argo.ApplicationSource) { s.RepoURL = "git@git.example:org/repo" })},
		"another targetRevision":   {other: with(func(s *argo.ApplicationSource) { s.TargetRevision = "Main" })},
		"no targetRevision":        {other: with(func(s *argo.ApplicationSource) { s.TargetRevision = "" })},
		"a chart":                  {other: with(func(s *argo.ApplicationSource) { s.Chart = "guestbook" })},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(SourceKey(row.other) == SourceKey(base)).To(Equal(row.same))
		})
	}
	g := NewWithT(t)
	g.Expect(SourceKey(argo.ApplicationSource{RepoURL: "x"})).
		To(Equal(SourceKey(argo.ApplicationSource{RepoURL: "x", TargetRevision: "HEAD"})), "no targetRevision is HEAD")
	g.Expect(SourceKey(argo.ApplicationSource{RepoURL: "git@git.example:org/repo.git"})).
		To(Equal(SourceKey(argo.ApplicationSource{RepoURL: "ssh://git@git.example/org/repo"})), "two spellings of ssh")
}

func TestSourcesArePairedByPosition(t *testing.T) {
	two := argo.ApplicationSources{{RepoURL: "a"}, {RepoURL: "b"}}
	for name, row := range map[string]struct {
		revisions []string
		want      []policy.Source
	}{
		"as many":       {revisions: []string{"1", "2"}, want: []policy.Source{{Key: "a  HEAD", Revision: "1"}, {Key: "b  HEAD", Revision: "2"}}},
		"too few":       {revisions: []string{"1"}, want: []policy.Source{{Key: "a  HEAD", Revision: "1"}, {Key: "b  HEAD"}}},
		"none":          {want: []policy.Source{{Key: "a  HEAD"}, {Key: "b  HEAD"}}},
		"more than two": {revisions: []string{"1", "2", "3"}, want: []policy.Source{{Key: "a  HEAD", Revision: "1"}, {Key: "b  HEAD", Revision: "2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Sources(two, row.revisions)).To(Equal(row.want))
		})
	}
}

// TestRepositoriesAreNormalizedAsUpstreamDoes compares with NormalizeGitURLAllowInvalid of argo-cd v3.5.7.
func TestRepositoriesAreNormalizedAsUpstreamDoes(t *testing.T) {
	urls := []string{
		"", " ", "x", ".git", "ssh://", "https://git.example/org/repo", "https://git.example/org/repo.git",
		"https://git.example/org/repo.git/", "HTTPS://Git.Example:443/Org/Repo.GIT", "http://user:pw@git.example/r",
		"git@git.example:org/repo.git", "git@git.example:22:org/repo", "ssh://git@git.example:22/org/repo.git",
		"SSH://git@git.example/org", "user@host", "a@b@c", "a/b@c", "git.example:org/repo", "file:///srv/repo.git",
		"oci://registry.example/chart", "registry.example/chart", "https://git.example/%zz", "https://git.example/a b",
		"https://[::1]:8080/r", "https://git.example/r?x=1#y", "https://git.example/\x7f", "://", "%", "git@", "@git.example",
		"\tgit@git.example:r.git\n", "https://git.example/ä.git", "codecommit::eu-1://r", "ssh://git@host:path/r",
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		urls = append(urls, randomURL(random))
	}
	kinds := map[string]int{}
	for _, url := range urls {
		want := git.NormalizeGitURLAllowInvalid(url)
		got := strings.TrimSuffix(SourceKey(argo.ApplicationSource{RepoURL: url}), "  HEAD")
		NewWithT(t).Expect(got).To(Equal(want), "%q", url)
		ssh, _ := git.IsSSHURL(strings.ToLower(strings.TrimSpace(url)))
		switch {
		case git.NormalizeGitURL(url) == "":
			kinds["invalid"]++
		case ssh:
			kinds["ssh"]++
		default:
			kinds["other"]++
		}
	}
	t.Logf("compared %d URLs, 0 differences: %v", len(urls), kinds)
	for _, kind := range []string{"invalid", "ssh", "other"} {
		NewWithT(t).Expect(kinds[kind]).To(BeNumerically(">", 100), kind)
	}
}

func randomURL(r *rand.Rand) string {
	parts := []string{
		"https://", "ssh://", "SSH://", "http://", "git@", "user:pw@", "@", "git.example", "Host", "[::1]", ":", ":22", ":443",
		"/", "//", "org", "Repo", ".git", ".GIT", "%", "%20", " ", "?q", "#f", "\x01", "ä", "~", "..",
	}
	var url strings.Builder
	for range 1 + r.IntN(8) {
		url.WriteString(parts[r.IntN(len(parts))])
	}
	return url.String()
}
