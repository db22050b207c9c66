// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/discovery"

	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
)

// profiled is for how long a case is repeated for a profile, and profiledCases are the cases of which there is one.
const profiled = 10 * time.Second

var profiledCases = map[string]bool{
	"floor": true, "write-no-webhook": true, "allow-barrier": true, "write-allow-barrier": true, "deny": true,
	"write-deny": true, "write-allow": true,
}

// profile writes CPU profiles of the kube-apiserver and of stepgate while one case is repeated, and prints their sums
// and the API server's largest entries.
func (s *suite) profile(ctx context.Context, siblings int, name string, run func(context.Context) error) {
	until, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(until)
	file := func(process string) string {
		return filepath.Join(s.options.profiles, fmt.Sprintf("%s-%s-%d.pb.gz", process, name, siblings))
	}
	seconds, times := fmt.Sprint(int(profiled.Seconds())), 0
	group.Go(func() error {
		defer stop()
		text, err := script.Get(
			discovery.NewDiscoveryClientForConfig(s.Config),
		).RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", seconds).Do(ctx).Raw()
		return errors.Join(err, os.WriteFile(file("kube-apiserver"), text, 0o600))
	})
	group.Go(func() error {
		text, err := installed.Get(ctx, "http://"+s.profiledInstance(name).Metrics+"/debug/pprof/profile?seconds="+seconds)
		return errors.Join(err, os.WriteFile(file("stepgate"), []byte(text), 0o600))
	})
	group.Go(func() error {
		for groupCtx.Err() == nil {
			if err := run(ctx); err != nil {
				return err
			}
			times++
		}
		return nil
	})
	script.Must(group.Wait())
	s.out.Line("\nprofiles of %s, %d siblings, %d times in %s", name, siblings, times, profiled)
	s.printProfile(ctx, "kube-apiserver", file("kube-apiserver"), profiledFunctions)
	s.printProfile(ctx, "stepgate", file("stepgate"), nil)
}

// printProfile prints the sum of a profile, and the shares of some functions.
func (s *suite) printProfile(ctx context.Context, process, file string, functions []string) {
	text := script.Get(exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-cum", "-nodecount=400", file).Output())
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "Duration") {
			s.out.Line("%s: %s", process, strings.TrimSuffix(line, "\n"))
		}
		if slices.ContainsFunc(functions, func(f string) bool { return strings.HasSuffix(strings.TrimSpace(line), f) }) {
			s.out.Line("%s", strings.TrimSuffix(line, "\n"))
		}
	}
}

// profiledInstance is the instance of stepgate that a case asks.
func (s *suite) profiledInstance(name string) *installed.Replica {
	if strings.Contains(name, "barrier") {
		return s.barrier
	}
	return s.gate
}

// profiledFunctions are the functions whose shares are printed: what the API server does for a LIST of metadata, and
// for a write.
var profiledFunctions = []string{
	"handlers.asPartialObjectMetadataList", "meta.AsPartialObjectMetadata",
	"unstructured.(*Unstructured).GetManagedFields",
	"handlers.doTransformObject", "handlers.transformObject", "handlers.transformResponseObject",
	"cacher.(*Cacher).GetList", "cacher.(*CacheDelegator).GetList",
	"responsewriters.SerializeObject", "responsewriters.(*deferredResponseWriter).Write", "gzip.(*Writer).Write",
	"handlers.(*patcher).patchResource", "fieldmanager.(*FieldManager).Update",
	"handlers.(*patcher).applyPatchToCurrentObject",
	"schema/defaulting.Default", "pruning.PruneWithOptions", "validation.ValidateCustomResource",
	"cel.(*Validator).Validate",
	"registry.(*Store).Update", "etcd3.(*store).GuaranteedUpdate", "dispatcher.Dispatch", "runtime.gcBgMarkWorker",
	"runtime.mallocgc", "filters.WithAuthentication.func1",
}
