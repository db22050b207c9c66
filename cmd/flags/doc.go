// SPDX-License-Identifier: Apache-2.0

// Package flags has the flags of `stepgate-webhook serve` and of `stepgate-reporter serve`, in groups that both have and
// groups of their own. The programs serve by them, and the command line reads those of the webhook from its Deployment.
package flags
