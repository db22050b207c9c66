// SPDX-License-Identifier: Apache-2.0

// Package refresh asks Argo CD to compare Applications again that block a rollout only because Argo CD compared them
// too early. It works behind the admission call: a request never delays, changes or fails a decision. A request that
// cannot be made is counted and dropped, because the next denial makes it again. The package decides nothing and reads
// nothing. Package webhook calls it.
package refresh
