// Package order takes the order of Applications from whatever declares it: the steps of an ApplicationSet, the annotation
// stepgate.io/after, or something else behind the same interface. It says what comes before an Application. It reads
// none of that, and decides nothing: package judge reads it live, and asks the rule.
package order
