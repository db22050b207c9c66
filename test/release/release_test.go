// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/installed"
)

var (
	shared *environment.Environment
	helm   *installed.Helm
	// candidate is what `make release-candidate` has written.
	candidate release
)

func TestMain(m *testing.M) {
	candidate = release{
		dir: os.Getenv("CANDIDATE_DIR"), version: os.Getenv("CANDIDATE"), commit: os.Getenv("COMMIT"),
	}
	if candidate.dir == "" || candidate.version == "" || candidate.commit == "" {
		println("CANDIDATE_DIR, CANDIDATE and COMMIT are needed: run `make release-rehearsal`")
		os.Exit(1)
	}
	o := environment.Options{Options: cluster.Options{AdmissionPolicies: true}}
	os.Exit(environment.MainWith(m, o, func(e *environment.Environment) (err error) {
		shared = e
		helm, err = installed.NewHelm(e)
		return err
	}))
}

// TestTheFolderIsWhole looks for what a release publishes.
func TestTheFolderIsWhole(t *testing.T) {
	g := NewWithT(t)
	chart := "stepgate-" + strings.TrimPrefix(candidate.version, "v") + ".tgz"
	archive := "stepgate-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	for _, name := range []string{
		"stepgate-webhook.digest", "stepgate-webhook.spdx.json", "stepgate-reporter.digest", "stepgate-reporter.spdx.json",
		chart, archive, "stepgate.yaml", "extension.tar", "extension_checksums.txt", "site.tar.gz", notesFile, checksumsFile,
		provenanceFile,
	} {
		info, err := os.Stat(candidate.file(name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Size()).To(BeNumerically(">", 0), name)
	}
	g.Expect(has(t, candidate.file("site.tar.gz"), "./index.html")).To(BeTrue())
	notes, err := os.ReadFile(candidate.file(notesFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(notes)).To(HavePrefix("# stepgate " + candidate.version + "\n\n"))
}

// has reports whether an archive has a file.
func has(t *testing.T, archive, name string) bool {
	t.Helper()
	g := NewWithT(t)
	file, err := os.Open(archive)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	g.Expect(err).NotTo(HaveOccurred())
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return false
		}
		g.Expect(err).NotTo(HaveOccurred())
		if header.Name == name {
			return true
		}
	}
}

// TestChecksums does what somebody does who downloads the files, and then with one of them changed.
func TestChecksums(t *testing.T) {
	g := NewWithT(t)
	check := func(dir string) (string, error) {
		command := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", checksumsFile)
		command.Dir = dir
		text, err := command.CombinedOutput()
		return string(text), err
	}
	text, err := check(candidate.dir)
	g.Expect(err).NotTo(HaveOccurred(), text)
	sums, err := candidate.sums()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Count(text, ": OK\n")).To(Equal(len(sums)), "every file is listed")

	changed := release{dir: t.TempDir()}
	g.Expect(os.CopyFS(changed.dir, os.DirFS(candidate.dir))).To(Succeed())
	g.Expect(os.WriteFile(changed.file("stepgate.yaml"), []byte("changed"), 0o600)).To(Succeed())
	text, err = check(changed.dir)
	g.Expect(err).To(HaveOccurred())
	g.Expect(text).To(ContainSubstring("stepgate.yaml: FAILED"))
}

// TestProvenanceNamesEverything: the commit, each file, and each image by the digest that its own content has.
func TestProvenanceNamesEverything(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(candidate.file(provenanceFile))
	g.Expect(err).NotTo(HaveOccurred())
	var statement struct {
		Subject   []subject `json:"subject"`
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct {
					Digest map[string]string `json:"digest"`
				} `json:"resolvedDependencies"`
			} `json:"buildDefinition"`
		} `json:"predicate"`
	}
	g.Expect(json.Unmarshal(text, &statement)).To(Succeed())
	g.Expect(statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest).
		To(Equal(map[string]string{"gitCommit": candidate.commit}))
	named := map[string]string{}
	for _, s := range statement.Subject {
		named[s.Name] = s.Digest["sha256"]
	}
	sums, err := candidate.sums()
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range sums {
		g.Expect(named).To(HaveKeyWithValue(s.Name, s.Digest["sha256"]))
		delete(named, s.Name)
	}
	g.Expect(named).To(Equal(map[string]string{
		"oci:stepgate-webhook": digest(t, "stepgate-webhook"), "oci:stepgate-reporter": digest(t, "stepgate-reporter"),
	}))
}

// digest computes the digest of an image from its content.
func digest(t *testing.T, program string) string {
	t.Helper()
	g := NewWithT(t)
	index, err := layout.ImageIndexFromPath(candidate.file(program + ".oci"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(validate.Index(index)).To(Succeed(), "all digests and sizes agree")
	sum, err := index.Digest()
	g.Expect(err).NotTo(HaveOccurred())
	return sum.Hex
}

// TestTheImageHasTheVersion runs the program of the image.
func TestTheImageHasTheVersion(t *testing.T) {
	g := NewWithT(t)
	index, err := layout.ImageIndexFromPath(candidate.file("stepgate-webhook.oci"))
	g.Expect(err).NotTo(HaveOccurred())
	images, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	image, err := index.Image(images.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	files := tar.NewReader(mutate.Extract(image))
	_, err = files.Next()
	g.Expect(err).NotTo(HaveOccurred())
	program := filepath.Join(t.TempDir(), "stepgate-webhook")
	out, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o700)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.Copy(out, files)
	g.Expect(errors.Join(err, out.Close())).To(Succeed())
	text, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(text))
	g.Expect(string(text)).To(HavePrefix("stepgate " + candidate.version + ", commit " + candidate.commit + ","))
}

// TestTheChartInstallsTheImageByItsDigest installs the packed chart on a real API server, as docs/releases.md says.
func TestTheChartInstallsTheImageByItsDigest(t *testing.T) {
	g := NewWithT(t)
	number := strings.TrimPrefix(candidate.version, "v")
	sum := "sha256:" + digest(t, "stepgate-webhook")
	g.Expect(shared.CreateNamespace(t.Context(), cluster.ArgoNamespace)).To(Succeed())
	_, err := helm.Run(t.Context(), "install", "stepgate", candidate.file("stepgate-"+number+".tgz"),
		"--namespace=stepgate", "--create-namespace", "--set=image.digest="+sum)
	g.Expect(err).NotTo(HaveOccurred())
	var deployment appsv1.Deployment
	name := client.ObjectKey{Namespace: "stepgate", Name: "stepgate"}
	g.Expect(shared.Admin.Get(t.Context(), name, &deployment)).To(Succeed())
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(HaveSuffix("stepgate/stepgate@" + sum))
	g.Expect(deployment.Labels).To(HaveKeyWithValue("app.kubernetes.io/version", number))
	_, err = helm.Run(t.Context(), "uninstall", "stepgate", "--namespace=stepgate")
	g.Expect(err).NotTo(HaveOccurred())
}

func TestNotes(t *testing.T) {
	g := NewWithT(t)
	changelog := "# Changelog\n\n## Unreleased\n\nnext\n\n## 1.2.0 - 2026-01-01\n\nthis\n\n## 1.1.0\n\nold\n"
	g.Expect(notes(changelog, "v1.2.0")).To(Equal("# stepgate v1.2.0\n\nthis\n"))
	g.Expect(notes(changelog, "v1.3.0-rc.1")).To(Equal("# stepgate v1.3.0-rc.1\n\nnext\n"))
	_, err := notes("# Changelog\n", "v1.2.0")
	g.Expect(err).To(MatchError("the changelog has nothing about v1.2.0"))
}
