package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/discovery"

	"github.com/stepgate/stepgate/test/release"
	"github.com/stepgate/stepgate/test/script"
)

// profiled is for how long a case is repeated for a profile, and profiledCases are the cases of which there is one.
const profiled = 10 * time.Second

var profiledCases = map[string]bool{"floor": true, "write-no-webhook": true, "write-allow-barrier": true, "deny": true, "write-deny": true, "allow-barrier": true}

// profile writes a CPU profile of the kube-apiserver while one case is repeated, and prints its largest entries.
func (s *suite) profile(ctx context.Context, siblings int, name string, run func(context.Context) error) {
	file := filepath.Join(s.options.profiles, fmt.Sprintf("kube-apiserver-%s-%d.pb.gz", name, siblings))
	until, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(until)
	times := 0
	group.Go(func() error {
		defer stop()
		seconds := fmt.Sprint(int(profiled.Seconds()))
		text, err := script.Get(discovery.NewDiscoveryClientForConfig(s.Config)).RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", seconds).Do(ctx).Raw()
		if err != nil {
			return err
		}
		return os.WriteFile(file, text, 0o600)
	})
	instance := s.profiledInstance(name)
	gateFile := filepath.Join(s.options.profiles, fmt.Sprintf("stepgate-%s-%d.pb.gz", name, siblings))
	group.Go(func() error {
		text, err := release.Get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", instance.Metrics, int(profiled.Seconds())))
		if err != nil {
			return err
		}
		return os.WriteFile(gateFile, []byte(text), 0o600)
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
	top := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-cum", "-nodecount=400", file)
	text := script.Get(top.Output())
	fmt.Printf("\nprofile of kube-apiserver: %s, %d siblings, %d times in %s\n", name, siblings, times, profiled)
	for line := range strings.Lines(string(text)) {
		for _, function := range profiledFunctions {
			if strings.HasPrefix(line, "Duration") || strings.HasSuffix(strings.TrimSpace(line), function) {
				fmt.Print(line)
				break
			}
		}
	}
}

// profiledInstance is the instance of stepgate that a case asks.
func (s *suite) profiledInstance(name string) *release.Replica {
	if strings.Contains(name, "barrier") {
		return s.barrier
	}
	return s.gate
}

// profiledFunctions are the functions whose shares are printed: what the API server does for a LIST of metadata, and for a write.
var profiledFunctions = []string{
	"handlers.asPartialObjectMetadataList", "meta.AsPartialObjectMetadata", "unstructured.(*Unstructured).GetManagedFields",
	"handlers.doTransformObject", "handlers.transformObject", "handlers.transformResponseObject", "cacher.(*Cacher).GetList", "cacher.(*CacheDelegator).GetList",
	"responsewriters.SerializeObject", "responsewriters.(*deferredResponseWriter).Write", "gzip.(*Writer).Write",
	"handlers.(*patcher).patchResource", "fieldmanager.(*FieldManager).Update", "handlers.(*patcher).applyPatchToCurrentObject",
	"schema/defaulting.Default", "pruning.PruneWithOptions", "validation.ValidateCustomResource", "cel.(*Validator).Validate",
	"registry.(*Store).Update", "etcd3.(*store).GuaranteedUpdate", "dispatcher.Dispatch", "runtime.gcBgMarkWorker", "runtime.mallocgc", "filters.WithAuthentication.func1",
}
