// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user and the group of the process, by number: the image has no /etc/passwd.
const user = "65532:65532"

// index is the image for all platforms.
func (r release) index() (v1.ImageIndex, error) {
	index := v1.ImageIndex(empty.Index)
	for _, platform := range r.platforms {
		image, err := r.image(platform)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &platform},
		})
	}
	// A registry shows the annotations of the index, and the labels of an image.
	return mutate.Annotations(index, r.labels()).(v1.ImageIndex), nil
}

// image is the image for one platform. It begins from nothing: no base image is pulled.
func (r release) image(platform v1.Platform) (v1.Image, error) {
	binary, err := os.ReadFile(r.binary(platform))
	if err != nil {
		return nil, err
	}
	layer, err := layer(r.name, binary, r.time)
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make release-image"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = platform.OS, platform.Architecture, v1.Time{Time: r.time}
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + r.name}, Labels: r.labels()}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON), nil
}

// layer is the only layer, with the only file: the binary, which root owns and everybody may run.
func layer(name string, binary []byte, modified time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{
		Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(binary)), ModTime: modified,
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(binary); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}
