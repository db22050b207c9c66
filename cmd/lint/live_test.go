// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/webhook/settings"
)

// liveSet is the ApplicationSet of a text, as a cluster has it.
func liveSet(t *testing.T, text string) *argo.ApplicationSet {
	t.Helper()
	set := &argo.ApplicationSet{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(text), set)).To(Succeed())
	set.UID = "1"
	return set
}

func liveApplication(name string, owner types.UID, labels map[string]string) *argo.Application {
	yes := true
	return &argo.Application{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "argocd", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook", UID: owner, Controller: &yes}},
	}}
}

// Live Applications close the gaps of what cannot be known offline.
func TestLive(t *testing.T) {
	clusters := []string{
		"    - list:\n        elements:\n          - {env: dev, cluster: dev}\n          - {env: prod, cluster: prod-eu}\n          - {env: prod, cluster: prod-us}\n", "    - clusters: {}\n",
	}
	recorded := func(set *argo.ApplicationSet) {
		set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "guestbook-dev", Step: "1"}}
	}
	dev, prod := map[string]string{"env": "dev"}, map[string]string{"env": "prod"}
	for name, tc := range map[string]struct {
		edits []string
		set   func(*argo.ApplicationSet)
		apps  []*argo.Application
		want  []string
		gaps  []Gap
	}{
		"all is well": {clusters, recorded, []*argo.Application{liveApplication("guestbook-dev", "1", dev), liveApplication("guestbook-prod", "1", prod)}, nil, nil},
		"Applications of another ApplicationSet of the same name": {
			clusters, recorded, []*argo.Application{
				liveApplication("guestbook-dev", "1", dev), liveApplication("guestbook-prod", "2", prod),
			},
			[]string{
				`step-without-applications 0 ` + steps + `[1]: Step 2 has no Application: it selects none of the 1 that exist.`,
			}, nil,
		},
		"an Application in no step": {
			clusters, recorded, []*argo.Application{
				liveApplication("guestbook-dev", "1", dev), liveApplication("guestbook-prod", "1", prod),
				liveApplication("guestbook-qa", "1", nil),
			},
			[]string{`in-no-step 0 ` + steps + `: guestbook-qa is in no step.`}, nil,
		},
		"no Applications yet": {
			clusters, nil, nil, nil,
			[]Gap{
				{"clusters", "generator 1 (clusters): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones"},
			},
		},
		"the controller records no step": {
			clusters, nil, []*argo.Application{
				liveApplication("guestbook-dev", "1", dev), liveApplication("guestbook-prod", "1", prod),
			},
			[]string{
				`progressive-syncs-off 0 spec.strategy: The ApplicationSet controller records no step of the 2 Applications: it runs without progressive syncs, and nothing syncs them in order.`,
			}, nil,
		},
		"the controller records no step, and the Applications sync by themselves": {
			append([]string{"syncPolicy: {", "syncPolicy: {automated: {selfHeal: true}, "}, clusters...), nil,
			[]*argo.Application{
				liveApplication("guestbook-dev", "1", dev), liveApplication("guestbook-prod", "1", prod),
			}, nil, nil,
		},
		"the same, and Applications stay that are generated no more": {
			append([]string{
				"syncPolicy: {", "syncPolicy: {automated: {selfHeal: true}, ", "  template:", "  syncPolicy: {applicationsSync: create-update}\n  template:",
			}, clusters...), nil,
			[]*argo.Application{liveApplication("guestbook-dev", "1", dev), liveApplication("guestbook-prod", "1", prod)},
			[]string{
				`orphans-block 0 spec.syncPolicy.applicationsSync: applicationsSync create-update keeps Applications that are generated no more, and later steps wait for them.`,
			}, nil,
		},
		"a name to exclude that nobody has": {
			append([]string{
				"stepgate.io/require: health", "stepgate.io/exclude: guestbook-dev,guestbok-prod 2026-11-21T13:00:00Z INC-1",
			}, clusters...), recorded,
			[]*argo.Application{liveApplication("guestbook-dev", "1", dev), liveApplication("guestbook-prod", "1", prod)},
			[]string{
				`excluded-unknown 0 metadata.annotations["stepgate.io/exclude"]: The ApplicationSet has no Application guestbok-prod, and excludes nobody by this name.`,
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := liveSet(t, edited(t, tc.edits...))
			if tc.set != nil {
				tc.set(set)
			}
			var in Input
			in.AddLive(set)
			for _, a := range tc.apps {
				in.AddLiveApplication(a)
			}
			in.Link()
			r := in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true})
			if tc.want == nil {
				tc.want = []string{}
			}
			NewWithT(t).Expect(findings(t, r)).To(Equal(tc.want))
			NewWithT(t).Expect(r.ApplicationSets[0].NotChecked).To(Equal(tc.gaps))
		})
	}
}

// What the installation of the cluster does with conditions is checked against it.
func TestInstallation(t *testing.T) {
	set := func(annotations string) *argo.ApplicationSet {
		return liveSet(t, edited(t, "stepgate.io/require: health", "stepgate.io/approve: '2'"+annotations))
	}
	audited := `condition-not-enforced 0 metadata.annotations["stepgate.io/approve"]: Nothing waits because of stepgate.io/approve: the mode is audit, by the installation.`
	overtaken := `overtaken 0 metadata.annotations["stepgate.io/approve"]: A commit that is approved and has not started yet is dropped as soon as a newer one lands.`
	unstarted := `annotation-without-effect 0 metadata.annotations["stepgate.io/pin"]: With RollingSync, stepgate.io/pin: candidate has no effect: this installation starts no syncs.`
	const enforce, train = "\n    stepgate.io/mode: enforce", "\n    stepgate.io/pin: candidate"
	for name, tc := range map[string]struct {
		installed   *settings.Config
		annotations string
		want        []string
	}{
		"not known":                      {nil, "", []string{overtaken}},
		"enforce mode, pinned":           {&settings.Config{}, "", []string{overtaken}},
		"audit mode":                     {&settings.Config{Mode: settings.Audit}, "", []string{audited}},
		"audit mode, but not for this":   {&settings.Config{Mode: settings.Audit}, enforce, []string{overtaken}},
		"a train, and not known":         {nil, train, []string{}},
		"a train, started":               {&settings.Config{Start: true}, train, []string{}},
		"a train, and nobody starts it":  {&settings.Config{}, train, []string{overtaken, unstarted}},
		"trains, and nobody starts them": {&settings.Config{Pin: settings.PinCandidate}, "", []string{overtaken}},
		"trains everywhere":              {&settings.Config{Start: true, Pin: settings.PinCandidate}, "", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var in Input
			in.AddLive(set(tc.annotations))
			in.Link()
			var got []string
			for _, line := range findings(t,
				in.Check(Options{
					Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true, Installation: tc.installed,
				})) {
				if strings.Contains(line, "stepgate.io/") {
					got = append(got, line)
				}
			}
			NewWithT(t).Expect(got).To(ConsistOf(tc.want))
		})
	}
}
