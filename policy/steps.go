// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"reflect"
	"slices"
)

// Step is an entry of spec.strategy.rollingSync.steps: all its expressions have to select an Application.
type Step []Expression

// Expression is an entry of a step's matchExpressions.
type Expression struct {
	Key      string
	Operator string
	Values   []string
}

// Ordered reports whether the ApplicationSet asks for an order.
func (set *ApplicationSet) Ordered() bool { return set.Waves || set.RollingSync && len(set.Steps) > 0 }

// StepOf returns the 0-based step of an Application with these labels, or -1 if it is in none. By waves, each is in one.
func (set *ApplicationSet) StepOf(labels map[string]string) int {
	if set.Waves {
		return waveOf(labels)
	}
	return StepOf(set.Steps, labels)
}

// everyStep is beyond the last step that an Application can be in.
func (set *ApplicationSet) everyStep() int {
	if set.Waves {
		return WaveStep(MostWave) + 1
	}
	return len(set.Steps)
}

// SameSteps reports whether an Application is in the same step of both, whatever its labels are.
func (set *ApplicationSet) SameSteps(other *ApplicationSet) bool {
	return set.Waves == other.Waves && reflect.DeepEqual(set.Steps, other.Steps)
}

// StepOf returns the 0-based number of the first step that selects the labels, or -1. An Application that two steps
// select has the number of the first: it is then done before either opens the next.
//
// It mirrors buildAppDependencyList of argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go, to the
// letter; a test drives both on random input.
func StepOf(steps []Step, labels map[string]string) int {
	return slices.IndexFunc(steps, func(s Step) bool { return s.selects(labels) })
}

// selects reports whether every expression selects the labels; no expressions select all.
func (s Step) selects(labels map[string]string) bool {
	return !slices.ContainsFunc(s, func(e Expression) bool { return !e.selects(labels) })
}

// selects differs from a Kubernetes selector: a missing key fails In only, whatever the other operators are, and an
// operator other than In and NotIn fails when the key is present.
func (e Expression) selects(labels map[string]string) bool {
	value, ok := labels[e.Key]
	if !ok {
		return e.Operator != "In"
	}
	switch e.Operator {
	case "In":
		return slices.Contains(e.Values, value)
	case "NotIn":
		return !slices.Contains(e.Values, value)
	default:
		return false
	}
}
