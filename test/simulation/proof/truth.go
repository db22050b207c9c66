// SPDX-License-Identifier: Apache-2.0

package proof

import "fmt"

// early says why a sync that is admitted comes before its turn; empty if it does not. It asks git and the clusters only.
func (w *world) early(x granted) string {
	t, c := &w.truth[x.app], &w.cluster[x.app]
	switch {
	case x.ask == dryRun, c.revision == x.revision, t.synced == x.revision:
		return "" // it deploys nothing, or what is deployed
	case x.ask == byPerson && t.ran&(1<<x.revision) != 0:
		return "" // a person goes back to what it has run
	}
	for i := range x.app {
		if !w.completed(i, x.revision) {
			return fmt.Sprintf("%s of %s of %s, and %s has not completed that", x.ask, x.revision.text(), names[x.app], names[i])
		}
	}
	return ""
}

// completed reports whether an Application has completed a commit, and is not about to go back from it.
func (w *world) completed(i int8, r revision) bool {
	op := &w.apps[i].operation
	back := op.phase == running && op.full && op.revision < r
	return r >= 0 && w.truth[i].completed&(1<<r) != 0 && !back
}
