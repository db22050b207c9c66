// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is a release of Argo CD that the tests can run, and what sets it apart from the others. Flags, configuration
// and behaviour that depend on the version have a field here, and nowhere an `if` of their own.
type release struct {
	version string
	// repoServer are flags of the repo-server that older releases do not know.
	repoServer []string
	Traits
}

// Traits say how the controllers of a release work, where the scenarios or the observer depend on it.
type Traits struct {
	// LooksAtHealth: it starts a step only while all Applications of the step just before are Healthy and not OutOfSync
	// (`buildAppSyncMap`, up to 3.2). Later ones go by the status that they have recorded, for all earlier steps.
	LooksAtHealth bool
	// SyncsDrift: it starts a sync of every Application that is OutOfSync, so also for drift and for a change of the
	// spec alone (up to 3.2). Later ones start one sync for each revision.
	SyncsDrift bool
	// KeepsResult: an operation that is taken up shows the result of the one before, until it has one of its own
	// (setOperationState writes a merge patch, up to 3.2).
	KeepsResult bool
	// Grace is how long it waits after a change, by default, before it starts a step: the refresh barrier, from 3.6 on.
	// It then has everything compared that was not compared since. It is --refresh-grace-period-seconds.
	Grace time.Duration
}

// HasBarrier says that the controller itself waits until everything was compared with a change. It may then start
// nothing out of order.
func (t Traits) HasBarrier() bool { return t.Grace > 0 }

// releases are all of them. The first is the one that the tests run unless they are told otherwise.
func releases() []release {
	since35 := []string{"--client-ca-path="}
	upTo32 := Traits{LooksAtHealth: true, SyncsDrift: true, KeepsResult: true}
	return []release{
		{version: "v3.5.7", repoServer: since35},
		{version: "v3.6.1", repoServer: since35, Traits: Traits{Grace: 30 * time.Second}},
		{version: "v3.4.13"},
		{version: "v3.2.12", Traits: upTo32},
	}
}

// Versions are the releases of Argo CD that the tests can run; the first is the one that they run unless they are told
// otherwise. To add one, add it to releases and make its module, test/tools/argocd-VERSION, which
// `make argocd-tools ARGOCD_VERSION=VERSION` builds.
func Versions() []string {
	var all []string
	for _, r := range releases() {
		all = append(all, r.version)
	}
	return all
}

// Locate finds the program and the manifests of a version. Both are of its own module: CRDs, RBAC and configuration
// belong to a release as much as its controllers do. root is the root of the repository.
func Locate(root, version string) (Options, error) {
	i := slices.Index(Versions(), version)
	if i < 0 {
		return Options{}, fmt.Errorf("unknown version of Argo CD: %s is not one of %s", version,
			strings.Join(Versions(), ", "))
	}
	o := Options{release: releases()[i], Binary: filepath.Join(root, "bin", "argocd-"+version)}
	if _, err := os.Stat(o.Binary); err != nil {
		return o, fmt.Errorf("no Argo CD: run `make argocd-tools ARGOCD_VERSION=%s`: %w", version, err)
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = filepath.Join(root, "test", "tools", "argocd-"+version)
	list.Env = append(os.Environ(), "GOTOOLCHAIN=auto") // a release may need a newer Go, which its module names
	dir, err := list.Output()
	if err != nil {
		return o, fmt.Errorf("find the module of Argo CD %s: %w", version, err)
	}
	o.Manifests = filepath.Join(strings.TrimSpace(string(dir)), "manifests")
	return o, nil
}

// module is Argo CD's Go module.
const module = "github.com/argoproj/argo-cd/v3"
