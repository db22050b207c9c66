// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ChartName is the name of the chart in every ChartRepository.
const ChartName = "guestbook"

// OwnParameter is a parameter of the chart, which has no value by default.
const OwnParameter = "owner"

// chartManifest deploys a ConfigMap of the Application's name with the version of the chart, and with the parameter.
const chartManifest = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  version: {{ .Chart.AppVersion | quote }}
  ` + OwnParameter + `: {{ default "" .Values.` + OwnParameter + ` | quote }}
`

// ChartRepository serves the versions of a Helm chart over HTTP, as index.yaml and archives.
type ChartRepository struct {
	// URL is its address.
	URL string

	server *httptest.Server
	mu     sync.Mutex
	index  strings.Builder
	// archives are the charts, by the path at which they are served.
	archives map[string][]byte
}

// NewChartRepository serves an empty chart repository until Argo CD's Environment is stopped.
func (a *ArgoCD) NewChartRepository() (*ChartRepository, error) {
	if err := a.LinkHelm(); err != nil {
		return nil, err
	}
	c := &ChartRepository{archives: map[string][]byte{}}
	fmt.Fprintf(&c.index, "apiVersion: v1\nentries:\n  %s:\n", ChartName)
	c.server = httptest.NewServer(http.HandlerFunc(c.serve))
	c.URL = c.server.URL
	a.env.Cleanup(c.server.Close)
	return c, nil
}

// Publish adds version 1.0.PATCH of the chart, and returns the version.
func (c *ChartRepository) Publish(patch string) (string, error) {
	version := "1.0." + patch
	archive, err := pack(map[string]string{
		"Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\nappVersion: %q\n", ChartName,
			version, patch),
		"templates/configmap.yaml": chartManifest,
	})
	if err != nil {
		return "", err
	}
	file := fmt.Sprintf("%s-%s.tgz", ChartName, version)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.archives["/"+file] == nil {
		fmt.Fprintf(&c.index, "  - apiVersion: v2\n    name: %s\n    version: %s\n    created: %q\n    urls: [%s/%s]\n",
			ChartName, version, time.Now().Format(time.RFC3339), c.URL, file)
		c.archives["/"+file] = archive
	}
	return version, nil
}

func (c *ChartRepository) serve(w http.ResponseWriter, request *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	archive, known := c.archives[request.URL.Path]
	switch {
	case request.URL.Path == "/index.yaml":
		_, _ = w.Write([]byte(c.index.String()))
	case known:
		_, _ = w.Write(archive)
	default:
		http.NotFound(w, request)
	}
}

// pack makes the archive of a chart.
func pack(files map[string]string) ([]byte, error) {
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	for name, content := range files {
		header := &tar.Header{Name: ChartName + "/" + name, Mode: 0o644, Size: int64(len(content))}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return buffer.Bytes(), err
}

// LinkHelm puts Helm on the PATH of the repo-server, which renders charts with it.
func (a *ArgoCD) LinkHelm() error {
	helm := filepath.Join(a.env.Root, "bin", "helm")
	if _, err := os.Stat(helm); err != nil {
		return fmt.Errorf("helm is not in bin/: run `make helm-tools`: %w", err)
	}
	err := os.Symlink(helm, filepath.Join(a.dir, "bin", "helm"))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}
