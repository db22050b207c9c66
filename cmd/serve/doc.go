// SPDX-License-Identifier: Apache-2.0

// Package serve has what the programs in the images run alike: the sub-command serve, the endpoints of probes and
// metrics, the Lease of what one replica does for all, and the watch of evidence. It decides nothing and answers nobody.
package serve
