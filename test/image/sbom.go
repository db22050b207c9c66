// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
)

// noAssertion is how SPDX says that a document leaves something open.
const noAssertion = "NOASSERTION"

// writeSBOM writes the SBOM of the release: one SPDX document for all platforms.
func (r release) writeSBOM() error {
	document, err := r.sbom()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Write(document, &text, json.Indent("  ")); err != nil {
		return err
	}
	return os.WriteFile(r.file("spdx.json"), text.Bytes(), 0o600)
}

// sbom describes the binaries, and the modules that each of them consists of. It has them from the binaries themselves:
// the linker records them.
func (r release) sbom() (*spdx.Document, error) {
	document := &spdx.Document{
		SPDXVersion:       spdx.Version,
		DataLicense:       spdx.DataLicense,
		SPDXIdentifier:    "DOCUMENT",
		DocumentName:      r.title + " " + r.version,
		DocumentNamespace: fmt.Sprintf("https://%s/spdx/%s/%s/%s", module, r.title, r.version, r.commit),
		CreationInfo: &spdx.CreationInfo{
			Created:  r.time.Format(time.RFC3339),
			Creators: []spdx.Creator{{CreatorType: "Tool", Creator: module + "/test/image"}},
		},
	}
	modules := map[spdx.ElementID]*spdx.Package{}
	for _, platform := range r.platforms {
		binary, info, err := r.describe(platform)
		if err != nil {
			return nil, err
		}
		document.Packages = append(document.Packages, binary)
		document.Relationships = append(document.Relationships, relationship(document.SPDXIdentifier, "DESCRIBES", binary))
		for _, m := range linked(info) {
			p := library(m)
			modules[p.PackageSPDXIdentifier] = p
			document.Relationships = append(document.Relationships, relationship(binary.PackageSPDXIdentifier, "DEPENDS_ON", p))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(modules)) {
		document.Packages = append(document.Packages, modules[id])
	}
	return document, nil
}

// describe reads the binary of one platform.
func (r release) describe(platform v1.Platform) (*spdx.Package, *debug.BuildInfo, error) {
	bytes, err := os.ReadFile(r.binary(platform))
	if err != nil {
		return nil, nil, err
	}
	info, err := buildinfo.ReadFile(r.binary(platform))
	if err != nil {
		return nil, nil, err
	}
	p := golang(module, r.version)
	p.PackageSPDXIdentifier = identifier("Binary", platform.String())
	p.PackageFileName = "/" + r.name
	p.PackageComment = fmt.Sprintf("The binary for %s, built with %s from commit %s", platform, info.GoVersion, r.commit)
	p.PackageLicenseDeclared = "Apache-2.0"
	p.PrimaryPackagePurpose = "APPLICATION"
	sum := sha256.Sum256(bytes)
	p.PackageChecksums = []spdx.Checksum{{Algorithm: spdx.SHA256, Value: hex.EncodeToString(sum[:])}}
	return p, info, nil
}

// linked are the modules that a binary consists of, apart from stepgate: those that replace others, and the standard
// library.
func linked(info *debug.BuildInfo) []debug.Module {
	modules := []debug.Module{{Path: "stdlib", Version: info.GoVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, *m)
	}
	return modules
}

// library is a module as a package.
func library(m debug.Module) *spdx.Package {
	p := golang(m.Path, m.Version)
	p.PackageSPDXIdentifier = identifier("Module", m.Path, m.Version)
	p.PrimaryPackagePurpose = "LIBRARY"
	if m.Sum != "" {
		p.PackageSourceInfo = "go.sum: " + m.Sum
	}
	return p
}

// golang is a package by its module's path and version. Scanners find it by its package URL. They know the standard
// library by a version without "go".
func golang(path, version string) *spdx.Package {
	locator := "pkg:golang/" + path + "@" + url.QueryEscape(strings.TrimPrefix(version, "go"))
	return &spdx.Package{
		PackageName:             path,
		PackageVersion:          version,
		PackageDownloadLocation: noAssertion,
		PackageLicenseConcluded: noAssertion,
		PackageLicenseDeclared:  noAssertion,
		PackageCopyrightText:    noAssertion,
		PackageExternalReferences: []*spdx.PackageExternalReference{
			{Category: spdx.CategoryPackageManager, RefType: spdx.PackageManagerPURL, Locator: locator},
		},
	}
}

func relationship(from spdx.ElementID, kind string, to *spdx.Package) *spdx.Relationship {
	return &spdx.Relationship{
		RefA:         spdx.DocElementID{ElementRefID: from},
		RefB:         spdx.DocElementID{ElementRefID: to.PackageSPDXIdentifier},
		Relationship: kind,
	}
}

// notInIdentifiers are the characters that an SPDX identifier may not have.
var notInIdentifiers = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func identifier(parts ...string) spdx.ElementID {
	return spdx.ElementID(notInIdentifiers.ReplaceAllString(strings.Join(parts, "-"), "-"))
}
