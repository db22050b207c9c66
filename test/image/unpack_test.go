// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	. "github.com/onsi/gomega"
)

// file is a file of the image.
type file struct {
	name     string
	kind     byte
	mode     int64
	uid, gid int
	modified string
}

// expectImage expects how a runtime starts the image: the binary, as a user who is not root, with nothing in its
// environment.
func expectImage(t *testing.T, p program, image v1.Image, platform v1.Platform) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(image.MediaType()).To(Equal(types.OCIManifestSchema1))
	config, err := image.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Platform().String()).To(Equal(platform.String()))
	g.Expect(config.Created.UTC().Format(time.RFC3339)).To(Equal("2023-11-14T22:13:20Z"))
	g.Expect(config.Config).To(Equal(v1.Config{
		User: "65532:65532", Entrypoint: []string{"/" + p.name}, Labels: release{program: p, version: version, commit: commit}.labels(),
	}))
	layers, err := image.Layers()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(layers).To(HaveLen(1))
	g.Expect(layers[0].MediaType()).To(Equal(types.OCILayer))
}

// unpack unpacks the file system of an image, which has the binary and nothing else, and returns the path of the
// binary.
func unpack(t *testing.T, p program, image v1.Image) string {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	archive := mutate.Extract(image)
	defer func() { _ = archive.Close() }()
	var files []file
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		files = append(files, file{
			header.Name, header.Typeflag, header.Mode, header.Uid, header.Gid, header.ModTime.UTC().Format(time.RFC3339),
		})
		if header.Typeflag == tar.TypeReg {
			content, err := io.ReadAll(reader)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.WriteFile(filepath.Join(dir, filepath.Base(header.Name)), content,
				header.FileInfo().Mode())).To(Succeed())
		}
	}
	g.Expect(files).To(Equal([]file{
		{name: p.name, kind: tar.TypeReg, mode: 0o755, modified: "2023-11-14T22:13:20Z"},
	}))
	return filepath.Join(dir, p.name)
}

// expectStatic expects that a binary needs no loader and no library: the image has neither.
func expectStatic(t *testing.T, binary, architecture string) {
	t.Helper()
	g := NewWithT(t)
	f, err := elf.Open(binary)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = f.Close() }()
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	g.Expect(f.Machine).To(Equal(machines[architecture]))
	for _, segment := range f.Progs {
		g.Expect(segment.Type).NotTo(Equal(elf.PT_INTERP), "the binary needs a loader")
	}
	g.Expect(f.ImportedLibraries()).To(BeEmpty())
}
