// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/progressivesync"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	log "github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// keeper is the ApplicationSet controller's side of progressivesync.
type keeper struct {
	statuses []argo.ApplicationSetApplicationStatus
}

func (k *keeper) SetAppSetApplicationStatus(
	_ context.Context, _ *log.Entry, _ *argo.ApplicationSet, statuses []argo.ApplicationSetApplicationStatus,
) error {
	k.statuses = statuses
	return nil
}

func (*keeper) SetApplicationSetStatusCondition(
	context.Context, *argo.ApplicationSet, argo.ApplicationSetCondition, bool,
) error {
	return nil
}

// What lint says of maxUpdate is what argo-cd v3.5.7 does with it: as many Applications as it promotes at once in a
// step of n.
func TestUpstreamCountsMaxUpdateTheSame(t *testing.T) {
	limits := []intstr.IntOrString{
		intstr.FromInt32(0), intstr.FromInt32(-1), intstr.FromInt32(1), intstr.FromInt32(100), intstr.FromString("0%"),
		intstr.FromString("00%"), intstr.FromString("-5%"), intstr.FromString("-500%"), intstr.FromString("5"),
		intstr.FromString("five"), intstr.FromString(""), intstr.FromString("%"), intstr.FromString("10%"),
		intstr.FromString("33%"), intstr.FromString("50%"), intstr.FromString("99%"), intstr.FromString("100%"),
		intstr.FromString("+100%"),
		intstr.FromString("250%"), intstr.FromString("99999999999999999999%"), intstr.FromString("+0%"),
		intstr.FromString("1.5%"),
	}
	for _, limit := range limits {
		for _, n := range []int{1, 2, 3, 10} {
			t.Run(limit.String()+" of "+strconv.Itoa(n), func(t *testing.T) {
				g := NewWithT(t)
				promoted := promotedAtOnce(t, limit, n)
				s := &Subject{Set: setWith(&limit), Known: true}
				for i := range n {
					s.Applications = append(s.Applications, Application{
						Name: strconv.Itoa(i), Labels: map[string]string{"env": "dev"},
					})
				}
				rules := []string{}
				for _, f := range Check(s, Options{}).Findings {
					if f.Rule != "one-step" {
						rules = append(rules, f.Rule)
					}
				}
				switch {
				case slices.Contains(rules, "manual-step"), slices.Contains(rules, "invalid-max-update") &&
					limit.Type == intstr.Int:
					g.Expect(promoted).To(Equal(0))
				case slices.Contains(rules, "invalid-max-update"), slices.Contains(rules, "max-update-below-one"):
					g.Expect(promoted).To(Equal(1))
				case slices.Contains(rules, "max-update-no-limit"):
					g.Expect(promoted).To(Equal(n))
				default:
					g.Expect(rules).To(BeEmpty())
					g.Expect(promoted).To(BeNumerically(">", 0))
				}
			})
		}
	}
}

func setWith(limit *intstr.IntOrString) *argo.ApplicationSet {
	return &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Name: "guestbook"},
		Spec: argo.ApplicationSetSpec{Strategy: &argo.ApplicationSetStrategy{
			Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{
				Steps: []argo.ApplicationSetRolloutStep{{MaxUpdate: limit, MatchExpressions: []argo.ApplicationMatchExpression{
					{Key: "env", Operator: "In", Values: []string{"dev"}},
				}}},
			},
		}},
	}
}

// promotedAtOnce lets argo-cd promote n Applications that wait in an open step.
func promotedAtOnce(t *testing.T, limit intstr.IntOrString, n int) int {
	t.Helper()
	set, toSync, steps := setWith(&limit), map[string]bool{}, map[string]int{}
	for i := range n {
		name := strconv.Itoa(i)
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: name, Step: "1", Status: argo.ProgressiveSyncWaiting,
		})
		toSync[name], steps[name] = true, 0
	}
	logger := log.New()
	logger.SetOutput(io.Discard)
	k := &keeper{}
	_, err := progressivesync.NewManager(nil, nil, k).UpdateApplicationSetApplicationStatusProgress(context.Background(),
		log.NewEntry(logger), set, toSync, steps)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	promoted := 0
	for _, s := range k.statuses {
		if s.Status == argo.ProgressiveSyncPending {
			promoted++
		}
	}
	return promoted
}
