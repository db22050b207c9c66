// Package refresh asks Argo CD to compare Applications again that hold up a rollout only because they were compared too
// early. It works behind the admission call: asking never delays, changes or fails a decision, and what cannot be asked
// for is counted and dropped, because the next denial asks again. It decides nothing and reads nothing. webhook calls it.
package refresh
