// SPDX-License-Identifier: Apache-2.0

package node

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	registryAddress = "127.0.0.1:5000"
	pauseImage      = "example.com/pause:1"
	// repository is the one that the chart pulls from, without the registry.
	repository = "stepgate/stepgate"
)

// serveRegistry serves an empty registry. containerd asks it for every image, whatever registry the image is of.
func (m *machine) serveRegistry() error {
	listener, err := net.Listen("tcp", registryAddress)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, registry.New(registry.Logger(log.New(io.Discard, "", 0)))) }()
	folder := filepath.Join(m.dir, "registries", "_default")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	hosts := fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n",
		registryAddress)
	return os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(hosts), 0o644)
}

// pushPause builds the image that holds the namespaces of every Pod.
func (m *machine) pushPause(ctx context.Context) error {
	binary := filepath.Join(m.dir, "pause")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary,
		"github.com/stepgate/stepgate/test/node/pause")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build pause: %w: %s", err, text)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(program))}); err != nil {
		return err
	}
	if _, err := w.Write(program); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	})
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, v1.Config{
		User: "65535:65535", Entrypoint: []string{"/pause"},
	}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return err
	}
	tag, err := name.NewTag(registryAddress + "/pause:1")
	if err != nil {
		return err
	}
	return remote.Write(tag, image, remote.WithContext(ctx))
}

// releaseImage builds the image as the release does, pushes it, and returns its tag and its digest.
func (m *machine) releaseImage(ctx context.Context) (tag, digest string, err error) {
	text, err := os.ReadFile(filepath.Join(m.Root, "charts", "stepgate", "Chart.yaml"))
	if err != nil {
		return "", "", err
	}
	found := regexp.MustCompile(`(?m)^appVersion: "?([^"\n]+)"?$`).FindSubmatch(text)
	if found == nil {
		return "", "", fmt.Errorf("the chart has no appVersion")
	}
	tag = "v" + string(found[1])
	folder := filepath.Join(m.dir, "release")
	release := exec.CommandContext(ctx, "make", "--no-print-directory", "release-image",
		"PLATFORMS=linux/"+runtime.GOARCH, "VERSION="+tag,
		"RELEASE="+folder, "IMAGE="+registryAddress+"/"+repository)
	release.Dir = m.Root
	if text, err := release.CombinedOutput(); err != nil {
		return tag, "", fmt.Errorf("make release-image: %w: %s", err, text)
	}
	sum, err := os.ReadFile(filepath.Join(folder, "stepgate-webhook.digest"))
	return tag, string(bytes.TrimSpace(sum)), err
}
