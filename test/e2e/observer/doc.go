// Package observer judges from the outside whether a rollout went in order. It sees what anybody who watches Applications
// sees, and shares no code with the gate: it knows nothing of its rule, its words or its answers.
package observer
