// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
)

// WavesAnnotation has the sync waves of the Applications be the steps of an ApplicationSet that has no RollingSync.
const WavesAnnotation = annotationPrefix + "waves"

// MaxUpdateAnnotation limits how many Applications of a wave sync at a time, as maxUpdate does for a step of RollingSync.
const MaxUpdateAnnotation = annotationPrefix + "max-update"

// everyStep is the key of a limit that holds for every step that has none of its own.
const everyStep = -1

// oneByOne is how Applications sync where nobody can read how many may.
var oneByOne = map[int]*intstr.IntOrString{everyStep: ptr.To(intstr.FromInt32(1))}

// maxUpdateOfWaves reads a limit of every wave, such as "3", or those of some, such as "10=25%,20=3". On any other text,
// it is 1 for every wave.
func maxUpdateOfWaves(set *ApplicationSet) (map[int]*intstr.IntOrString, error) {
	text, has := set.Annotations.Get(MaxUpdateAnnotation)
	if !has {
		return nil, nil
	}
	limits := map[int]*intstr.IntOrString{}
	for part := range strings.SplitSeq(text, ",") {
		step, limit := everyStep, strings.TrimSpace(part)
		if wave, of, some := strings.Cut(limit, "="); some {
			number, err := strconv.Atoi(strings.TrimSpace(wave))
			if err != nil {
				return oneByOne, fmt.Errorf(`%.50q is not a wave: write "3", or limits of waves such as "10=25%%,20=3"`, wave)
			}
			if step, err = set.Step(number); err != nil {
				return oneByOne, err
			}
			limit = strings.TrimSpace(of)
		}
		if limits[step] != nil {
			return oneByOne, fmt.Errorf("%.50q is a second limit of the same waves", part)
		}
		most := intstr.Parse(limit)
		if n, err := intstr.GetScaledValueFromIntOrPercent(&most, 100, false); err != nil || n < 0 {
			return oneByOne, fmt.Errorf(`%.50q is no number of Applications: write "3", or a share of the wave such as "25%%"`,
				limit)
		}
		limits[step] = &most
	}
	return limits, nil
}

// MaxUpdateOf is the limit of a 0-based step, as somebody has written it; nil if it has none.
func (s *ApplicationSet) MaxUpdateOf(step int) *intstr.IntOrString {
	return cmp.Or(s.MaxUpdate[step], s.MaxUpdate[everyStep])
}

// AtOnce is how many Applications of a 0-based step, of so many, may sync at a time; false if it has no limit.
func (s *ApplicationSet) AtOnce(step, applications int) (most int, limited bool) {
	return MostAtOnce(s.MaxUpdateOf(step), applications)
}

// hasWaves reports whether WavesAnnotation asks for an order: whatever is not "false" does.
func hasWaves(annotations Annotations) bool {
	text, has := annotations.Get(WavesAnnotation)
	return has && strings.TrimSpace(text) != "false"
}

// WavesProblem is what is wrong with WavesAnnotation; nil if nothing is.
func (s *ApplicationSet) WavesProblem() error {
	text, has := s.Annotations.Get(WavesAnnotation)
	if text = strings.TrimSpace(text); has && text != "true" && text != "false" {
		return fmt.Errorf(`%.50q is neither "true" nor "false"`, text)
	}
	if s.RollingSync && hasWaves(s.Annotations) {
		return errors.New("the ApplicationSet has RollingSync, whose steps are the order: remove one of the two")
	}
	return nil
}

// MaxUpdateProblem is what is wrong with MaxUpdateAnnotation; nil if nothing is.
func (s *ApplicationSet) MaxUpdateProblem() error {
	_, has := s.Annotations.Get(MaxUpdateAnnotation)
	switch {
	case has && !s.Waves && s.Parent():
		return errors.New("it limits waves, and the Application has none: write " + WavesAnnotation + `: "true" beside it`)
	case has && !s.Waves:
		return errors.New("it limits waves, and the ApplicationSet has none: write maxUpdate in the steps of RollingSync")
	}
	_, err := maxUpdateOfWaves(s)
	return err
}

// SyncWaveProblem is what is wrong with the sync wave of an Application; nil if nothing is.
func SyncWaveProblem(annotations Annotations) error {
	text, has := annotations.Get(synccommon.AnnotationSyncWave)
	if _, err := strconv.Atoi(text); has && err != nil {
		return fmt.Errorf("no number, and Argo CD counts it as 0: %.50q", text)
	}
	return nil
}

// withWave are the labels of an Application, and its sync wave (policy.WaveLabel) by the text of its annotation. One that
// is no number counts as 0, as in syncwaves.Wave of argo-cd v3.5.7, gitops-engine/pkg/sync/syncwaves/waves.go. The map
// that is given does not change.
func withWave(labels map[string]string, text string) map[string]string {
	wave, err := strconv.Atoi(text)
	if err != nil || wave == 0 {
		return labels
	}
	with := maps.Clone(labels)
	if with == nil {
		with = map[string]string{}
	}
	with[policy.WaveLabel] = shared(strconv.Itoa(wave))
	return with
}

// Labels are the labels of an Application as steps select it: with its sync wave.
func Labels(labels, annotations map[string]string) map[string]string {
	return withWave(labels, annotations[synccommon.AnnotationSyncWave])
}
