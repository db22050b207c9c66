// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
)

// archive is a download as setup-envtest expects it.
func archive(g Gomega) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		text := "#!/bin/sh\necho prebuilt " + name + "\n"
		g.Expect(files.WriteHeader(&tar.Header{
			Name: "controller-tools/envtest/" + name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg,
		})).To(Succeed())
		_, err := files.Write([]byte(text))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(files.Close()).To(Succeed())
	g.Expect(zipped.Close()).To(Succeed())
	return packed.Bytes()
}

// index serves a version, with the checksum that the download has or should have.
func index(t *testing.T, packed, summed []byte) string {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	name := fmt.Sprintf("envtest-v1.36.3-%s-%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	mux.HandleFunc("/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "releases:\n  v1.36.3:\n    %s:\n      hash: %x\n      selfLink: %s/%s\n", name,
			sha512.Sum512(summed), server.URL, name)
	})
	mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	return server.URL + "/index.yaml"
}

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	held := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	t.Cleanup(func() { close(held); server.Close() })
	return server.URL
}

// TestAssets lets the demo look for etcd and kube-apiserver. A make that only says what it was asked for stands for the
// build.
func TestAssets(t *testing.T) {
	packed := archive(NewWithT(t))
	for name, tc := range map[string]struct {
		index string
		built bool
		want  string // what it says
	}{
		"built already":         {index: "http://127.0.0.1:1", built: true, want: "using etcd and kube-apiserver in "},
		"prebuilt":              {index: index(t, packed, packed), want: "using prebuilt etcd and kube-apiserver, downloaded and verified"},
		"with another checksum": {index: index(t, packed, []byte("other")), want: "building them from source"},
		"nobody listens":        {index: "http://127.0.0.1:1", want: "building them from source"},
		"nobody answers":        {index: silent(t), want: "building them from source"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			bin := t.TempDir()
			if tc.built {
				for _, tool := range []string{"etcd", "kube-apiserver"} {
					g.Expect(os.WriteFile(filepath.Join(bin, tool), nil, 0o700)).To(Succeed())
				}
			}
			t.Setenv("CGO_ENABLED", "0") // as in the Makefile, also under the race detector
			build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "setup-envtest"),
				"sigs.k8s.io/controller-runtime/tools/setup-envtest")
			build.Dir = "../tools/envtest"
			text, err := build.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(text))

			command := exec.CommandContext(t.Context(), "./assets.sh", bin, "1.36.x")
			command.Env = append(os.Environ(), "ENVTEST_INDEX="+tc.index, "MAKE=echo", "KUBEBUILDER_ASSETS=")
			var said bytes.Buffer
			command.Stderr = &said
			folder, err := command.Output() // where nobody answers, it would never end if it did not give up by itself
			g.Expect(err).NotTo(HaveOccurred(), said.String())
			g.Expect(said.String()).To(ContainSubstring(tc.want))
			if tc.want[:5] != "build" {
				g.Expect(filepath.Join(string(bytes.TrimSpace(folder)), "etcd")).To(BeARegularFile())
				return
			}
			g.Expect(said.String()).To(MatchRegexp(`-C .* tools`))
			g.Expect(string(folder)).To(Equal(bin + "\n"))
		})
	}
}
