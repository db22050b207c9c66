// Package history reads the log of rollouts that stepgate keeps in its ledger, for people: `stepgate dashboard` and the
// extension of Argo CD's UI show it. It reads one ConfigMap, live, and never writes.
package history
