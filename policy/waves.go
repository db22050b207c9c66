// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strconv"
	"strings"
)

// WaveLabel is the key under which the labels of an Application have its sync wave, where that is not 0. No label of
// Kubernetes is called like that: a key has no space. So what holds of a label that selects a step holds of the wave: to
// edit it is no way round the gate.
const WaveLabel = "sync wave"

// MostWave bounds sync waves, on both sides of 0: one that is beyond counts as this.
const MostWave = 1 << 24

// wave0 is the 0-based step of wave 0. Every wave is a step that no ApplicationSet can have in its list: so the number
// of a step says which of the two it is, and a wave has the same number whatever other waves there are.
const wave0 = 1 << 26

// WaveStep is the 0-based step of a sync wave.
func WaveStep(wave int) int { return min(max(wave, -MostWave), MostWave) + wave0 }

// IsWave reports whether a 0-based step is a sync wave.
func IsWave(step int) bool { return step >= wave0-MostWave }

// waveOf is the 0-based step of the sync wave that labels have; Argo CD too counts what is no number as 0.
func waveOf(labels map[string]string) int {
	wave, err := strconv.Atoi(labels[WaveLabel])
	if err != nil {
		wave = 0
	}
	return WaveStep(wave)
}

// byParent begins the name, among those of ApplicationSets, of what a parent Application orders. No ApplicationSet has a
// slash in its name.
const byParent = "waves/"

// NameOfParent is the name, among those of ApplicationSets, of the order that a parent Application gives its children.
func NameOfParent(application string) string { return byParent + application }

// ParentNamed is the Application that a name among those of ApplicationSets is of, if it is one of NameOfParent.
func ParentNamed(name string) (application string, is bool) { return strings.CutPrefix(name, byParent) }

// Parent reports whether it is the order that a parent Application gives its children.
func (set *ApplicationSet) Parent() bool { return strings.HasPrefix(set.Name, byParent) }

// Called is what people call what orders Applications, by its namespace/name: "ApplicationSet argocd/guestbook" or
// "Application argocd/platform".
func Called(set string) string {
	namespace, name, _ := strings.Cut(set, "/")
	if application, is := ParentNamed(name); is {
		return "Application " + namespace + "/" + application
	}
	return "ApplicationSet " + set
}
