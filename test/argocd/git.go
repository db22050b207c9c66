// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Main is the branch that a commit goes to unless another one is named.
const Main = "main"

// Repository is a bare git repository in a folder of this machine.
type Repository struct {
	// URL is its file:// address.
	URL string

	dir string
}

// NewRepository creates a repository. The name is unique in this Argo CD.
func (a *ArgoCD) NewRepository(name string) (*Repository, error) {
	return NewRepositoryIn(filepath.Join(a.dir, "git", name))
}

// NewRepositoryIn creates a repository in a folder.
func NewRepositoryIn(dir string) (*Repository, error) {
	r := &Repository{dir: dir, URL: "file://" + dir}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, err
	}
	_, err := r.git("", "init", "--quiet", "--bare", "--initial-branch="+Main)
	return r, err
}

// Commit commits files (path to content; an empty content removes the file) to a branch, and returns the new commit.
func (r *Repository) Commit(branch string, files map[string]string) (string, error) {
	return r.commit("refs/heads/"+branch, r.parent("refs/heads/"+branch), files)
}

// Prepare makes a commit on top of a branch without moving the branch. Land moves it, at once.
func (r *Repository) Prepare(branch string, files map[string]string) (string, error) {
	return r.commit("refs/prepared", "refs/heads/"+branch, files)
}

// Land moves a branch to a prepared commit.
func (r *Repository) Land(branch, commit string) error {
	_, err := r.git("", "update-ref", "refs/heads/"+branch, commit)
	return err
}

// Tag moves a tag to a commit.
func (r *Repository) Tag(tag, commit string) error {
	_, err := r.git("", "tag", "--force", tag, commit)
	return err
}

// parent is the ref if it exists, else empty.
func (r *Repository) parent(ref string) string {
	if _, err := r.git("", "rev-parse", "--quiet", "--verify", ref); err != nil {
		return ""
	}
	return ref
}

// commit writes a commit with one call of git.
func (r *Repository) commit(ref, parent string, files map[string]string) (string, error) {
	var input strings.Builder
	fmt.Fprintf(&input, "feature done\ncommit %s\nmark :1\ncommitter somebody <somebody@example.com> now\ndata 8\na "+
		"change\n", ref)
	if parent != "" {
		fmt.Fprintf(&input, "from %s^0\n", parent)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if content := files[path]; content == "" {
			fmt.Fprintf(&input, "D %s\n", path)
		} else {
			fmt.Fprintf(&input, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
		}
	}
	input.WriteString("\nget-mark :1\ndone\n")
	return r.git(input.String(), "fast-import", "--quiet", "--force", "--date-format=now")
}

// Tree is the hash of what a commit has at a path; it is another one if it has nothing there.
func (r *Repository) Tree(commit, path string) string {
	tree, err := r.git("", "rev-parse", "--verify", commit+":"+path)
	if err != nil {
		return commit
	}
	return tree
}

// git runs git without the configuration of this machine.
func (r *Repository) git(input string, args ...string) (string, error) {
	command := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1"}
	command.Stdin = strings.NewReader(input)
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, problems.String())
	}
	return strings.TrimSpace(string(output)), nil
}
