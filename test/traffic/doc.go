// Package traffic sends an Argo CD's writes to a real API server, every one with a known right answer, and counts the
// wrong ones. The soaks and the faults use it.
package traffic
