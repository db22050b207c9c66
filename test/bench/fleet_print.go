// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/script"
)

// print prints what was measured: a table for people, and a line per instance for programs.
func (f *fleet) print(l *load, instances []*instance) {
	w, n := l.seen, f.sets*perSet
	f.out.Line("\n%d Applications in %d ApplicationSets and %d namespaces, %d instance(s) of stepgate", n, f.sets,
		len(f.namespaces), len(instances))
	f.out.Line("status writes per second: %.0f of %.0f that Argo CD makes; operations per second: %.2f of %.2f; for "+
		"%s; operations that came to nothing: %d", w.statusRate, l.rate, w.syncedRate, l.operations, w.took.Round(1e9),
		l.unsynced.Load())
	f.out.Line("the API server took %.2f cores and %.0f MiB, etcd %.2f cores and %.0f MiB, the writer %.2f cores; load "+
		"average %s", w.server, w.serverMiB, w.etcd, w.etcdMiB, w.this, script.Get(process.LoadAverage()))
	f.out.Line("a status write by the API server costs it %s of a core: %.0f per second take it %.2f cores more",
		ms(w.perWrite), l.rate, l.rate*w.perWrite.Seconds())
	for _, i := range instances {
		f.out.Line("bench: fleet applications=%d namespaces=%d instances=%d instance=%s ready=%s start=%.0fMiB "+
			"steady=%.0fMiB highest=%.0fMiB idle_cores=%.3f cores=%.3f lag_p50=%s lag_p99=%s "+
			"ledger=%.0fKiB ledger_writes_per_minute=%.1f",
			n, len(f.namespaces), len(instances), i.Name, i.ready.Round(1e7), i.start, i.steady, i.highest, i.idle, i.cpu,
			ms(quantile(i.lag, 0.5)), ms(quantile(i.lag, 0.99)), i.ledger, i.writes)
		table := tabwriter.NewWriter(f.out, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(table, "case\tsamples\tp50\tp99\tmost\tfailed\t")
		for _, c := range i.cases {
			_, _ = fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%d\t\n", c.name, len(c.took), ms(quantile(c.took, 0.5)),
				ms(quantile(c.took, 0.99)), ms(quantile(c.took, 1)), i.failed[c.name])
		}
		_ = table.Flush()
	}
}
