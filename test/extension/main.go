// SPDX-License-Identifier: Apache-2.0

// Command extension packs the extension of Argo CD's UI for argocd-extension-installer: an archive whose folder
// "resources" the installer copies to where argocd-server looks for extensions, and the checksum that it compares. The
// script is the one that is built into the command line, so the same sources give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stepgate/stepgate/cmd/page"
)

const (
	archive   = "extension.tar"
	checksums = "extension_checksums.txt"
	// script is loaded by argocd-server: a file whose name begins with "extension" and ends in ".js".
	script   = "resources/extension-stepgate.js/extension-stepgate.js"
	licences = "resources/extension-stepgate.js/licences.txt"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "extension:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	f := flag.NewFlagSet("extension", flag.ContinueOnError)
	dir := f.String("dir", "bin", "the `folder` into which the archive and its checksum are written")
	seconds := f.Int64("time", 0, "the time of all files, in `seconds` since 1970: the time of the commit")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *seconds == 0 {
		return errors.New("-time is needed; see -h")
	}
	packed, err := pack(time.Unix(*seconds, 0).UTC())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(packed)
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*dir, archive), packed, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(*dir, checksums), []byte(hex.EncodeToString(sum[:])+"  "+archive+"\n"), 0o644)
}

// pack is the archive.
func pack(at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range []struct{ name, of string }{{script, "extension.js"}, {licences, "licences.txt"}} {
		text, err := fs.ReadFile(page.Files, f.of)
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(text)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, bytes.NewReader(text)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
