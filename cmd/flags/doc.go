// Package flags has the flags of `stepgate-webhook serve`. The webhook serves by them, and the command line reads them
// from a Deployment.
package flags
