// SPDX-License-Identifier: Apache-2.0

// Command image assembles the released image of a program from the binaries that `make release-image` builds, writes its SBOM, and
// pushes the image to a registry. The release workflow and its rehearsal (rehearsal_test.go) run the same command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run assembles one release, and pushes it if a repository is named. Nothing is pushed before everything else is done.
func run(ctx context.Context, args []string) error {
	r, repository, archive, err := parse(args)
	if err != nil {
		return err
	}
	index, err := r.index()
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := r.writeSBOM(); err != nil {
		return err
	}
	if archive != "" {
		if _, err := layout.Write(archive, index); err != nil {
			return err
		}
	}
	if repository != "" {
		if err := push(ctx, index, repository, r.version); err != nil {
			return err
		}
	}
	fmt.Println(digest)
	return os.WriteFile(r.file("digest"), []byte(digest.String()+"\n"), 0o600)
}

// parse reads the command line: the release, the repository that it is pushed to, and the folder that it is written to,
// which may be empty.
func parse(args []string) (r release, repository, folder string, err error) {
	f := flag.NewFlagSet("image", flag.ContinueOnError)
	name := f.String("program", programs[0].name, "the `program` of the image")
	f.StringVar(&r.dir, "dir", "bin/release",
		"the `folder` that has the binary OS/ARCHITECTURE/PROGRAM of each platform; the SBOM and the digest are written "+
			"into it")
	platforms := f.String("platforms", "", "the platforms, as OS/ARCHITECTURE, separated by spaces")
	f.StringVar(&r.version, "version", "", "the version, which is the tag of the image")
	f.StringVar(&r.commit, "commit", "", "the commit that the binaries are built from")
	seconds := f.Int64("time", 0, "the time of all files and documents, in `seconds` since 1970: the time of the commit")
	f.StringVar(&repository, "push", "", "the `repository` that the image is pushed to; if empty, it is only assembled")
	f.StringVar(&folder, "layout", "", "the `folder` that the image is written to, as an OCI layout; none if empty")
	if err := f.Parse(args); err != nil {
		return r, "", "", err
	}
	if r.version == "" || r.commit == "" || *seconds == 0 || *platforms == "" {
		return r, "", "", errors.New("-platforms, -version, -commit and -time are needed; see -h")
	}
	at := slices.IndexFunc(programs, func(p program) bool { return p.name == *name })
	if at < 0 {
		return r, "", "", fmt.Errorf("-program: there is no image of %q", *name)
	}
	r.program = programs[at]
	r.time = time.Unix(*seconds, 0).UTC()
	for _, text := range strings.Fields(*platforms) {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return r, "", "", err
		}
		r.platforms = append(r.platforms, *platform)
	}
	return r, repository, folder, nil
}
