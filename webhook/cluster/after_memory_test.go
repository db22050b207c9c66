// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestWhatIsTooLongTakesNoMemory in the cache, nor in its index by names: whoever may annotate Applications could stop
// the gate otherwise. The chart's memory limit is 256 MiB.
func TestWhatIsTooLongTakesNoMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{afterIndex: after})
	before := heap()
	const apps = 20
	for i := range apps {
		var names []string
		for n := range 40_000 {
			names = append(names, fmt.Sprintf("%d%04x", i, n))
		}
		app := watched(fmt.Sprint("app-", i), "")
		app.Annotations[argocd.AfterAnnotation] = strings.Join(names, ",")
		NewWithT(t).Expect(store.Add(argocd.NewProjection(app))).To(Succeed())
	}
	each := (int64(heap()) - int64(before)) / apps
	runtime.KeepAlive(store)
	NewWithT(t).Expect(each).To(BeNumerically("<", 16<<10), "bytes for each Application")
}
