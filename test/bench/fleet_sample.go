// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
)

// longestSampling bounds the time that the samples of an instance take.
const longestSampling = 2 * time.Minute

// sample asks an instance for decisions under load: as the webhook's client sees them, and as the API server's client
// sees the writes.
func (f *fleet) sample(ctx context.Context, i *instance) {
	progress("decisions of %s under load", i.Name)
	p, allowed, denied := newPoster(i.Webhook), f.mine(i, f.allowed)[0], f.mine(i, f.denied)[0]
	write := func(user string, r *rollout, want answer) func(context.Context) error {
		return func(ctx context.Context) error { return f.patchers[user].patch(ctx, r, want) }
	}
	i.cases = []*sampled{
		{name: "allow", run: func(ctx context.Context) error { return p.post(ctx, allowed, allow) }},
		{name: "deny", run: func(ctx context.Context) error { return p.post(ctx, denied, deny) }},
		{name: "write-no-webhook", run: write(noWebhook, f.none, allow)},
		{name: "write-allow", run: write(gateUser, allowed, allow)},
		{name: "write-deny", run: write(gateUser, denied, deny)},
		{name: "write-pinned", run: write(controller, allowed, allow)},
		{name: "write-held", run: write(controller, denied, hold)},
	}
	until := time.Now().Add(longestSampling)
	for range f.options.samples {
		for _, c := range i.cases {
			began := time.Now()
			if err := c.run(ctx); err != nil {
				script.Must(ctx.Err())
				progress("%s: %v", c.name, err)
				i.failed[c.name]++
				continue
			}
			c.took = append(c.took, time.Since(began))
		}
		if time.Now().After(until) {
			return
		}
	}
}

// lagProbes is how many writes are followed to the watch of an instance.
const lagProbes = 50

// lag writes statuses, and looks how long after the answer the instance's watch has told them. A look takes some
// milliseconds, which the figure contains.
func (f *fleet) lag(ctx context.Context, i *instance) {
	denied := f.mine(i, f.denied)[0]
	at := types.NamespacedName{Namespace: denied.namespace, Name: denied.first}
	watched := ""
	if len(f.namespaces) != len(i.namespaces) {
		watched = at.Namespace
	}
	until := time.Now().Add(longestSampling)
	for range min(lagProbes, f.options.samples) {
		patch := fmt.Appendf(nil, `{"status":{"reconciledAt":%q,"health":{"lastTransitionTime":%[1]q}}}`,
			time.Now().UTC().Format(time.RFC3339Nano))
		text, err := f.raw.Patch(types.MergePatchType).Namespace(at.Namespace).Resource("applications").Name(at.Name).
			Body(patch).DoRaw(ctx)
		began := time.Now()
		script.Must(err)
		var written struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		script.Must(json.Unmarshal(text, &written))
		version := script.Get(strconv.ParseFloat(written.Metadata.ResourceVersion, 64))
		for script.Get(i.Metric(ctx, "stepgate_watch_resource_version", "resource", "applications", "watched_namespace",
			watched)) < version && time.Now().Before(until) {
			script.Must(sleep(ctx, time.Millisecond))
		}
		i.lag = append(i.lag, time.Since(began))
		if time.Now().After(until) {
			progress("%s has not been told of a write for %s: this machine is too slow for the load", i.Name,
				time.Since(began).Round(time.Second))
			return
		}
	}
}

// profile keeps the heap profile of an instance, where that is asked for.
func (f *fleet) profile(ctx context.Context, i *instance) {
	if f.options.profiles == "" {
		return
	}
	for _, kind := range []string{"heap", "allocs", "profile?seconds=10"} {
		text := script.Get(installed.Get(ctx, "http://"+i.Metrics+"/debug/pprof/"+kind))
		script.Must(os.WriteFile(filepath.Join(f.options.profiles, i.Name+"-"+kind[:4]), []byte(text), 0o600))
	}
}
