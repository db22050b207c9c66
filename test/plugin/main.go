// SPDX-License-Identifier: Apache-2.0

// Command plugin packs the command line for its users: an archive for each platform with the program as kubectl runs
// it, and the manifest with which krew, kubectl's manager of plugins, installs it. The release workflow and its
// rehearsal (plugin_test.go) run the same command.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1)
	}
}

// release is what is packed.
type release struct {
	// dir has the program OS/ARCHITECTURE/stepgate of each platform; the archives and the manifest are written into it.
	dir string
	// license is the file that goes beside the program.
	license string
	version string
	url     string
	time    time.Time
}

func run(args []string) error {
	var r release
	f := flag.NewFlagSet("plugin", flag.ContinueOnError)
	f.StringVar(&r.dir, "dir", "bin/release",
		"the `folder` that has the program OS/ARCHITECTURE/stepgate of each platform; the archives and stepgate.yaml are "+
			"written into it")
	f.StringVar(&r.license, "license", "LICENSE", "the `file` of the license")
	f.StringVar(&r.version, "version", "", "the version, such as v1.2.3")
	f.StringVar(&r.url, "url", "https://github.com/stepgate/stepgate/releases/download",
		"the `address` below which VERSION/ARCHIVE can be downloaded")
	platforms := f.String("platforms", "", "the platforms, as OS/ARCHITECTURE, separated by spaces")
	seconds := f.Int64("time", 0, "the time of all files, in `seconds` since 1970: the time of the commit")
	if err := f.Parse(args); err != nil {
		return err
	}
	if r.version == "" || *platforms == "" || *seconds == 0 {
		return errors.New("-platforms, -version and -time are needed; see -h")
	}
	r.time = time.Unix(*seconds, 0).UTC()
	m := r.manifest()
	for platform := range strings.FieldsSeq(*platforms) {
		p, err := r.pack(platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		m.Spec.Platforms = append(m.Spec.Platforms, p)
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, "stepgate.yaml"), text, 0o600)
}

// pack writes the archive of a platform.
func (r release) pack(platform string) (platformOf, error) {
	system, architecture, valid := strings.Cut(platform, "/")
	if !valid {
		return platformOf{}, errors.New("a platform is OS/ARCHITECTURE")
	}
	program, err := os.ReadFile(filepath.Join(r.dir, system, architecture, "stepgate"))
	if err != nil {
		return platformOf{}, err
	}
	license, err := os.ReadFile(r.license)
	if err != nil {
		return platformOf{}, err
	}
	name, bin, archive := fmt.Sprintf("stepgate-%s-%s.tar.gz", system, architecture), "kubectl-stepgate", r.tarball
	if system == "windows" {
		name, bin, archive = fmt.Sprintf("stepgate-%s-%s.zip", system, architecture), bin+".exe", r.zipped
	}
	var packed bytes.Buffer
	if err := archive(&packed, file{bin, 0o755, program}, file{"LICENSE", 0o644, license}); err != nil {
		return platformOf{}, err
	}
	sum := sha256.Sum256(packed.Bytes())
	p := platformOf{URI: r.url + "/" + r.version + "/" + name, Sha256: hex.EncodeToString(sum[:]), Bin: bin}
	p.Selector.MatchLabels = map[string]string{"os": system, "arch": architecture}
	return p, os.WriteFile(filepath.Join(r.dir, name), packed.Bytes(), 0o600)
}

// file is a part of an archive.
type file struct {
	name    string
	mode    int64
	content []byte
}

func (r release) tarball(w io.Writer, files ...file) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: r.time,
			Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func (r release) zipped(w io.Writer, files ...file) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
		header.SetMode(os.FileMode(f.mode)) //nolint:gosec // a mode is small
		part, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := part.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}
