// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"context"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/progressivesync"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	log "github.com/sirupsen/logrus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	upstreamRollouts        = 10_000
	upstreamBlockersPerSet  = 1
	upstreamFewestCompared  = 10_000
	upstreamProgressing     = "Progressing"
	upstreamHealthy         = "Healthy"
	upstreamUnselectedLabel = "-1"
)

// TestUpstreamDecidesTheSame drives argo-cd's own rollout code (v3.5.7, applicationset/progressivesync) and the rule on
// the same random ApplicationSets and Applications, and finds no difference: neither in the step that an Application
// has, nor in whom an Application that is not done holds up.
func TestUpstreamDecidesTheSame(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(20260921, 7))
	none := fake.NewClientBuilder().Build()
	seen := coverage{}
	steps, relations := 0, 0
	for range upstreamRollouts {
		r := randomRollout(random)
		seen.add(r)
		for range upstreamBlockersPerSet {
			held := random.IntN(len(r.apps))
			up := r.askUpstream(t, none, held)
			in := r.input(held)
			for i := range r.apps {
				name := r.apps[i].Name
				step := policy.StepOf(r.steps(), r.apps[i].Labels)
				g.Expect(recordedStep(step)).To(Equal(up.steps[name]), "step of %s in\n%s", name, r)
				steps++
				decision := evaluate(in, i)
				if step < 0 {
					// Upstream never syncs it, and the rule has no say in it: somebody else's sync is not a rollout's.
					g.Expect(up.syncs[name]).To(BeFalse(), "unselected %s in\n%s", name, r)
					g.Expect(decision.Reason).To(Equal(policy.NotSelected), "unselected %s in\n%s", name, r)
					continue
				}
				blocker := policy.StepOf(r.steps(), r.apps[held].Labels)
				blocked := 0 <= blocker && blocker < step
				g.Expect(blocked).To(Equal(!up.syncs[name]), "%s held up by %s in\n%s", name, r.apps[held].Name, r)
				g.Expect(decision.Outcome == policy.Deny).To(Equal(blocked), "%s held up by %s in\n%s", name, r.apps[held].Name, r)
				seen.addRelation(r, i, held, blocked)
				relations++
			}
		}
	}
	t.Logf("compared %d steps and %d relations on %d ApplicationSets, 0 differences; %v", steps, relations,
		upstreamRollouts, seen)
	g.Expect(steps).To(BeNumerically(">=", upstreamFewestCompared))
	g.Expect(relations).To(BeNumerically(">=", upstreamFewestCompared))
	for _, special := range specialCases() {
		g.Expect(seen[special]).To(BeNumerically(">", 0), "the generator never made: %s", special)
	}
}

// TestUpstreamAgreesOnWhatARollingSyncIs compares with IsRollingSyncStrategy and RollingSyncStrategyEnabled of v3.5.7.
func TestUpstreamAgreesOnWhatARollingSyncIs(t *testing.T) {
	one := []argo.ApplicationSetRolloutStep{{}}
	rollouts := map[string]*argo.ApplicationSetRolloutStrategy{
		"no rollingSync": nil,
		"nil steps":      {},
		"empty steps":    {Steps: []argo.ApplicationSetRolloutStep{}},
		"one step":       {Steps: one},
	}
	strategies := map[string]*argo.ApplicationSetStrategy{"no strategy": nil}
	for _, kind := range []string{"RollingSync", "rollingsync", "Rollingsync", "RollingSync ", "", "AllAtOnce", "Other"} {
		for name, rollout := range rollouts {
			strategies[strconv.Quote(kind)+" with "+name] = &argo.ApplicationSetStrategy{Type: kind, RollingSync: rollout}
		}
	}
	enabled := 0
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set := &argo.ApplicationSet{Spec: argo.ApplicationSetSpec{Strategy: strategy}}
			projected := argocd.NewApplicationSet(set).ApplicationSet
			gated := projected.RollingSync && len(projected.Steps) > 0
			g.Expect(projected.RollingSync).To(Equal(progressivesync.IsRollingSyncStrategy(set)))
			g.Expect(gated).To(Equal(progressivesync.RollingSyncStrategyEnabled(set)))

			in := policy.Input{
				Target:         policy.Target{Managed: true, Operation: policy.Operation{Written: true}},
				ApplicationSet: &projected,
			}
			g.Expect(policy.Evaluate(in).Reason == policy.NotRollingSync).To(Equal(!gated))
			if gated {
				enabled++
			}
		})
	}
	NewWithT(t).Expect(enabled).To(Equal(1), `only "RollingSync" with a step is a rollout`)
}

// upstream is what argo-cd made of a rollout.
type upstream struct {
	// steps are the texts of status.applicationStatus[].step: 1-based, "-1" when no step selects the Application.
	steps map[string]string
	// syncs says whom it would let sync now, before maxUpdate.
	syncs map[string]bool
}

// askUpstream lets argo-cd plan the rollout while all Applications but one are Healthy.
func (r rollout) askUpstream(t *testing.T, none client.Client, held int) upstream {
	t.Helper()
	g := NewWithT(t)
	set, apps := r.whileHeldUp(held)
	store := &statusStore{}
	manager := progressivesync.NewManager(none, none, store)
	syncs, err := manager.PerformProgressiveSyncs(context.Background(), silent(), *set, apps, apps)
	g.Expect(err).NotTo(HaveOccurred())

	up := upstream{steps: map[string]string{}, syncs: syncs}
	for _, status := range store.first {
		up.steps[status.Application] = status.Step
		// Otherwise the comparison would be about something else than this one Application.
		g.Expect(status.Status == upstreamHealthy).To(Equal(status.Application != apps[held].Name), "%+v", status)
	}
	g.Expect(up.steps).To(HaveLen(len(apps)))
	return up
}

// statusStore is the ApplicationSet controller's side of progressivesync: it keeps what it is given.
type statusStore struct {
	// first is the status that is written before anything is promoted.
	first []argo.ApplicationSetApplicationStatus
}

func (s *statusStore) SetAppSetApplicationStatus(
	_ context.Context, _ *log.Entry, set *argo.ApplicationSet, statuses []argo.ApplicationSetApplicationStatus,
) error {
	if s.first == nil {
		s.first = statuses
	}
	set.Status.ApplicationStatus = statuses
	return nil
}

func (*statusStore) SetApplicationSetStatusCondition(
	context.Context, *argo.ApplicationSet, argo.ApplicationSetCondition, bool,
) error {
	return nil
}

func silent() *log.Entry {
	logger := log.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(log.PanicLevel)
	return log.NewEntry(logger)
}

// input is the rollout as the rule sees it while one Application is not Healthy.
func (r rollout) input(held int) policy.Input {
	_, apps := r.whileHeldUp(held)
	set := argocd.NewApplicationSet(r.set).ApplicationSet
	in := policy.Input{ApplicationSet: &set}
	for i := range apps {
		sibling := argocd.Sibling(&apps[i])
		in.Siblings = append(in.Siblings, set.Sibling(&sibling))
	}
	return in
}

// evaluate is the rule's answer to a sync of the i-th Application. It is asked at the strictest level: what upstream
// calls Healthy is done for the rule too.
func evaluate(in policy.Input, i int) policy.Decision {
	app := in.Siblings[i]
	in.Target = policy.Target{
		Name: app.Name, Labels: app.Labels, Managed: true, SpecCompared: app.SpecCompared, ReconciledAt: app.ReconciledAt,
		Operation: policy.Operation{Written: true, Automated: true, Pinned: true},
		Compared:  app.Compared, Wanted: app.Compared, Ran: app.Ran,
	}
	return policy.Evaluate(in)
}

func recordedStep(step int) string {
	if step < 0 {
		return upstreamUnselectedLabel
	}
	return strconv.Itoa(step + 1)
}
