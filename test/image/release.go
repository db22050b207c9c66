// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// module is the path of stepgate's Go module.
const module = "github.com/stepgate/stepgate"

// programs have an image each. What only one of them needs is in its image alone.
var programs = []program{
	{"stepgate-webhook", "stepgate", "Keeps the order of Argo CD's progressive syncs"},
	{"stepgate-reporter", "stepgate-reporter", "Tells people about Argo CD's progressive syncs"},
}

// program is a program with an image of its own.
type program struct{ name, title, description string }

// release is one release of a program: its binaries in a folder, and what is known about them.
type release struct {
	program
	dir             string
	platforms       []v1.Platform
	version, commit string
	// time is the time of everything that is made. It follows from the commit, so that two builds of it are the same.
	time time.Time
}

// binary is the path of a platform's binary.
func (r release) binary(platform v1.Platform) string {
	return filepath.Join(r.dir, platform.OS, platform.Architecture, r.name)
}

// file is the path of a file about the image.
func (r release) file(kind string) string { return filepath.Join(r.dir, r.name+"."+kind) }

// labels describe the image to a registry. The Dockerfile has those that do not change from release to release.
func (r release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       r.title,
		"org.opencontainers.image.description": r.description,
		"org.opencontainers.image.source":      "https://" + module,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
	}
}
