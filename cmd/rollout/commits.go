// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

var commit = regexp.MustCompile("^[0-9a-f]{40}([0-9a-f]{24})?$")

// Commits are the addresses at which a browser shows the commits of its Applications, by the commit, where the address of
// the repository tells them.
func (r *Rollout) Commits() map[string]string {
	all := map[string]string{}
	for _, s := range r.sources {
		if _, known := all[s.Revision]; known {
			continue
		}
		if address := CommitURL(s); address != "" {
			all[s.Revision] = address
		}
	}
	return all
}

// CommitURL is the address at which a browser shows the commit of a source; empty if that is not known, or it is none.
func CommitURL(s policy.Source) string {
	address := commitURL(s.Key)
	if address == "" || !commit.MatchString(s.Revision) {
		return ""
	}
	return address + s.Revision
}

// commitPaths are where the hosts of repositories show commits, by a part of the name of the host.
var commitPaths = []struct{ host, path string }{
	{"github", "/commit/"}, {"gitlab", "/-/commit/"}, {"bitbucket.org", "/commits/"}, {"dev.azure.com", "/commit/"},
	{"codeberg.org", "/commit/"}, {"gitea", "/commit/"}, {"forgejo", "/commit/"},
}

// commitURL is where the host of a source shows commits; empty if that is not known, or the source is a chart. A key
// begins with the repository, as argocd.SourceKey writes it: an address, or USER@HOST/PATH.
func commitURL(key string) string {
	repo, rest, _ := strings.Cut(strings.TrimPrefix(key, policy.DryPrefix), " ")
	if chart, _, _ := strings.Cut(rest, " "); chart != "" {
		return ""
	}
	web := strings.Contains(repo, "://")
	if !web {
		repo = "ssh://" + repo
	}
	u, err := url.Parse(repo)
	if err != nil || web && u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	host, path := u.Host, strings.TrimSuffix(u.Path, "/")
	if !web { // the port is that of SSH
		host = u.Hostname()
	}
	if org, ssh := strings.CutPrefix(path, "/v3/"); ssh && host == "ssh.dev.azure.com" {
		if parts := strings.Split(org, "/"); len(parts) == 3 {
			host, path = "dev.azure.com", "/"+parts[0]+"/"+parts[1]+"/_git/"+parts[2]
		}
	}
	for _, p := range commitPaths {
		if strings.Contains(host, p.host) {
			return (&url.URL{Scheme: "https", Host: host, Path: path + p.path}).String()
		}
	}
	return ""
}
