// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestPluginRehearsal packs the release as the workflow does, and lets the real kubectl run the program of the archive.
func TestPluginRehearsal(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", root, "release-plugin",
		"PLUGIN_PLATFORMS=linux/amd64", "RELEASE="+dir, "VERSION=v9.8.7", "COMMIT=c0ffee")
	text, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(text))
	m := read(g, dir)
	g.Expect(m.Spec.Version).To(Equal("v9.8.7"))
	g.Expect(m.Spec.Platforms).To(HaveLen(1))
	p := m.Spec.Platforms[0]
	g.Expect(p.URI).To(Equal("https://github.com/stepgate/stepgate/releases/download/v9.8.7/stepgate-linux-amd64.tar.gz"))
	packed, err := os.ReadFile(filepath.Join(dir, filepath.Base(p.URI)))
	g.Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(packed)
	g.Expect(p.Sha256).To(Equal(hex.EncodeToString(sum[:])))

	files := unpacked(g, packed)
	g.Expect(files).To(HaveLen(2))
	g.Expect(string(files["LICENSE"])).To(ContainSubstring("Apache License"))
	bin := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(bin, p.Bin), files[p.Bin], 0o755)).To(Succeed())
	kubectl, err := filepath.Abs(filepath.Join(root, "bin", "kubectl"))
	g.Expect(err).NotTo(HaveOccurred())
	for args, want := range map[string]string{"stepgate version": "stepgate v9.8.7, commit c0ffee",
		"stepgate get --help": "  kubectl stepgate get -A"} {
		plugin := exec.CommandContext(t.Context(), kubectl, strings.Fields(args)...)
		plugin.Env = append(os.Environ(), "PATH="+bin)
		out, err := plugin.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		g.Expect(string(out)).To(ContainSubstring(want))
	}
}

// Every platform has an archive, and two builds of a release are the same.
func TestArchives(t *testing.T) {
	g := NewWithT(t)
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		for _, platform := range []string{"linux/arm64", "darwin/arm64", "windows/amd64"} {
			g.Expect(os.MkdirAll(filepath.Join(dir, platform), 0o755)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(dir, platform, "stepgate"), []byte("the program of "+platform),
				0o755)).To(Succeed())
		}
		g.Expect(run([]string{
			"-dir", dir, "-license", filepath.Join(root, "LICENSE"), "-version", "v1.2.3", "-time", "1700000000", "-platforms", "linux/arm64 darwin/arm64 windows/amd64",
		})).To(Succeed())
	}
	m := read(g, first)
	g.Expect(m).To(Equal(read(g, second)))
	var platforms []string
	for _, p := range m.Spec.Platforms {
		platforms = append(
			platforms, p.Selector.MatchLabels["os"]+"/"+p.Selector.MatchLabels["arch"]+" "+filepath.Base(p.URI)+" "+p.Bin,
		)
	}
	g.Expect(platforms).To(Equal([]string{
		"linux/arm64 stepgate-linux-arm64.tar.gz kubectl-stepgate", "darwin/arm64 stepgate-darwin-arm64.tar.gz kubectl-stepgate",
		"windows/amd64 stepgate-windows-amd64.zip kubectl-stepgate.exe",
	}))
	packed, err := os.ReadFile(filepath.Join(first, "stepgate-windows-amd64.zip"))
	g.Expect(err).NotTo(HaveOccurred())
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(archive.File).To(HaveLen(2))
	g.Expect(len(m.Spec.ShortDescription)).To(BeNumerically("<=", 50))

	g.Expect(run([]string{
		"-dir", first, "-version", "v1.2.3", "-time", "1", "-platforms", "plan9/amd64",
	})).To(MatchError(ContainSubstring("plan9/amd64: open ")))
	g.Expect(run(nil)).To(MatchError("-platforms, -version and -time are needed; see -h"))
}

func read(g Gomega, dir string) (m manifest) {
	text, err := os.ReadFile(filepath.Join(dir, "stepgate.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(text, &m)).To(Succeed())
	return m
}

func unpacked(g Gomega, packed []byte) map[string][]byte {
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	g.Expect(err).NotTo(HaveOccurred())
	archive, files := tar.NewReader(compressed), map[string][]byte{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		g.Expect(err).NotTo(HaveOccurred())
		files[header.Name], err = io.ReadAll(archive)
		g.Expect(err).NotTo(HaveOccurred())
	}
}
