package argocd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is a git repository in a folder of this machine, with one branch.
type Repository struct {
	// URL is its file:// address.
	URL string

	dir string
}

// NewRepository creates a repository. The name is unique in this Argo CD.
func (a *ArgoCD) NewRepository(name string) (*Repository, error) {
	r := &Repository{dir: filepath.Join(a.dir, "git", name)}
	r.URL = "file://" + r.dir
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, err
	}
	_, err := r.git("init", "--quiet", "--initial-branch=main")
	return r, err
}

// Commit writes files (path to content; an empty content removes the file) and returns the new commit.
func (r *Repository) Commit(files map[string]string) (string, error) {
	for path, content := range files {
		full := filepath.Join(r.dir, path)
		if content == "" {
			if err := os.Remove(full); err != nil {
				return "", err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	if _, err := r.git("add", "--all"); err != nil {
		return "", err
	}
	if _, err := r.git("commit", "--quiet", "--message", "a change"); err != nil {
		return "", err
	}
	return r.git("rev-parse", "HEAD")
}

// git runs git without the configuration of this machine.
func (r *Repository) git(args ...string) (string, error) {
	command := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=somebody", "GIT_AUTHOR_EMAIL=somebody@example.com",
		"GIT_COMMITTER_NAME=somebody", "GIT_COMMITTER_EMAIL=somebody@example.com",
	}
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, problems.String())
	}
	return strings.TrimSpace(string(output)), nil
}
