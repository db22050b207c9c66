// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/gomega"
)

// startRegistry starts a registry that wants a user and a password, and returns a repository in it. DOCKER_CONFIG names
// a folder with what `docker login` would have left.
func startRegistry(t *testing.T) (repository string) {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "actor" || password != "token" {
			w.Header().Set("WWW-Authenticate", `Basic realm="rehearsal"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	login := `{"auths": {"` + host + `": {"auth": "YWN0b3I6dG9rZW4="}}}` // actor:token
	NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, "config.json"), []byte(login), 0o600)).To(Succeed())
	t.Setenv("DOCKER_CONFIG", dir)
	return host + "/stepgate/stepgate"
}
