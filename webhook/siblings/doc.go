// Package siblings reads, live from the API server, what a decision rests on: the ApplicationSet and the sibling
// Applications, projected into the types of package policy.
//
// Every read has its resourceVersion unset, so it is linearizable: it sees all that was written before it began. A read
// error, a timeout or a partial answer is returned as an error and is never a decision. It is called by package webhook.
package siblings
