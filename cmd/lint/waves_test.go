// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/cmd/screen"
)

const (
	strategy = "  strategy:\n    type: RollingSync\n    rollingSync:\n      steps:\n        - matchExpressions:\n" +
		step1 + "        - matchExpressions:\n" + step2 + "          maxUpdate: 1\n"
	toName = "    metadata:\n      name:"
	// waveOfEnv is wave 20 for prod, and 0 for dev.
	waveOfEnv = `{{if eq .env "prod"}}20{{end}}`
)

// byWaves are the edits that have sync waves be the steps, with other annotations of the ApplicationSet.
func byWaves(wave string, annotations ...string) []string {
	return []string{
		strategy, "", "    stepgate.io/require: health\n",
		"    stepgate.io/waves: 'true'\n    " + strings.Join(append(annotations, "stepgate.io/require: health\n"), "\n    "),
		toName, "    metadata:\n      annotations:\n        argocd.argoproj.io/sync-wave: '" + wave + "'\n      name:",
	}
}

// waveRows has at least one ApplicationSet for each rule about waves.
var waveRows = map[string]row{
	"waves": {byWaves(waveOfEnv), nil},
	"conditions of waves": {
		byWaves(waveOfEnv, "stepgate.io/pause: '20'", "stepgate.io/soak: 20=1h", "stepgate.io/max-update: 20=1",
			"stepgate.io/pin: candidate", "stepgate.io/max-failures: 10%"), nil,
	},
	"tracks of waves": {byWaves(waveOfEnv, "stepgate.io/track: env"), nil},
	"waves that soak": {
		byWaves(waveOfEnv, "stepgate.io/soak: 1h"), []string{
			`overtaken 8 metadata.annotations["stepgate.io/soak"]: Wave 20 waits 60m with the newest commit only. If commits land more often than that, it is never deployed.`,
		},
	},
	"waves, neither true nor false": {
		[]string{"stepgate.io/require: health", "stepgate.io/waves: 'yes'\n    stepgate.io/pause: '0'", strategy, ""},
		[]string{
			`waves-invalid 7 metadata.annotations["stepgate.io/waves"]: The annotation stepgate.io/waves is not valid, the stricter reading is used: "yes" is neither "true" nor "false".`,
			`one-step 7 metadata.annotations["stepgate.io/waves"]: All Applications are in wave 0, and there is nothing to put in order.`,
		},
	},
	"no waves": {[]string{"stepgate.io/require: health", "stepgate.io/waves: 'false'", strategy, ""}, nil},
	"waves beside RollingSync": {
		[]string{"stepgate.io/require: health", "stepgate.io/waves: 'true'"}, []string{
			`waves-invalid 7 metadata.annotations["stepgate.io/waves"]: The annotation stepgate.io/waves is not valid, the stricter reading is used: the ApplicationSet has RollingSync, whose steps are the order: remove one of the two.`,
		},
	},
	"max-update without waves": {
		[]string{"stepgate.io/require: health", "stepgate.io/max-update: '3'"}, []string{
			`waves-invalid 7 metadata.annotations["stepgate.io/max-update"]: The annotation stepgate.io/max-update is not valid, the stricter reading is used: it limits waves, and the ApplicationSet has none: write maxUpdate in the steps of RollingSync.`,
		},
	},
	"a max-update that is none": {
		byWaves(waveOfEnv, "stepgate.io/max-update: 20=few"), []string{
			`waves-invalid 8 metadata.annotations["stepgate.io/max-update"]: The annotation stepgate.io/max-update is not valid, the stricter reading is used: "few" is no number of Applications: write "3", or a share of the wave such as "25%".`,
		},
	},
	"waves that are not there": {
		byWaves(waveOfEnv, "stepgate.io/max-update: 3=1,-1=2", "stepgate.io/pause: '10,20'"), []string{
			`wave-not-there 8 metadata.annotations["stepgate.io/max-update"]: stepgate.io/max-update names waves -1 and 3, which no Application has: there are waves 0 and 20.`,
			`wave-not-there 9 metadata.annotations["stepgate.io/pause"]: stepgate.io/pause names wave 10, which no Application has: there are waves 0 and 20.`,
		},
	},
	"a sync wave that is no number": {
		byWaves(`{{if eq .env "prod"}}late{{else}}-5{{end}}`), []string{
			`sync-wave-invalid 21 spec.template.metadata.annotations["argocd.argoproj.io/sync-wave"]: guestbook-prod-eu and guestbook-prod-us have the sync wave "late", which is no number: Argo CD counts it as 0.`,
		},
	},
	"one wave, and it soaks": {
		byWaves("7", "stepgate.io/soak: 1h"), []string{
			`one-step 7 metadata.annotations["stepgate.io/waves"]: All Applications are in wave 7, and there is nothing to put in order.`,
			`annotation-without-effect 8 metadata.annotations["stepgate.io/soak"]: The annotation stepgate.io/soak has no effect: with one wave, nothing soaks.`,
		},
	},
	"waves that only the cluster knows": {
		append(byWaves("{{.metadata.labels.wave}}", "stepgate.io/pause: '10'"), lists, "    - clusters: {}\n"), nil,
	},
	"waves in a template of Applications that have Applications": {
		[]string{
			toName, "    metadata:\n      annotations: {stepgate.io/waves: 'true', stepgate.io/max-update: '3'}\n      name:",
		}, nil,
	},
	"Applications that stay": {
		append(byWaves(waveOfEnv), "  template:", "  syncPolicy: {applicationsSync: create-update}\n  template:"), []string{
			`orphans-block 18 spec.syncPolicy.applicationsSync: applicationsSync create-update keeps Applications that are generated no more, and later steps wait for them.`,
		},
	},
}

func TestWaves(t *testing.T) {
	for name, tc := range waveRows {
		t.Run(name, func(t *testing.T) {
			got := findings(t, checked(t, edited(t, tc.edits...)))
			NewWithT(t).Expect(got).To(ConsistOf(tc.want), "%v", got)
		})
	}
}

// A remedy of a sync wave is one that counts: waves are no order beside RollingSync.
func TestRemedyOfSyncWaves(t *testing.T) {
	g := NewWithT(t)
	wave := []string{toName, "    metadata:\n      annotations: {argocd.argoproj.io/sync-wave: '2'}\n      name:"}
	steps := checked(t, edited(t, wave...))
	g.Expect(steps.ApplicationSets[0].Findings[0].Remedy).To(Equal("Remove it: the steps of RollingSync are the order."))
	none := checked(t, edited(t, append(wave, strategy, "", "    stepgate.io/require: health\n", "    a: b\n")...))
	g.Expect(none.ApplicationSets[0].Findings[0].Remedy).To(ContainSubstring(
		`annotate the ApplicationSet with stepgate.io/waves: "true"`))
}

// The header names the waves that are known.
func TestWavesInTheHeader(t *testing.T) {
	for name, tc := range map[string]struct {
		edits []string
		want  string
	}{
		"all": {byWaves(waveOfEnv), "by sync waves 0 and 20, 3 Applications"},
		"one": {byWaves("-1"), "by sync wave -1, 3 Applications"},
		"none": {
			append(byWaves("{{.metadata.labels.wave}}"), lists, "    - clusters: {}\n"),
			"by sync waves, 0 known Applications",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), checked(t, edited(t, tc.edits...))
			g.Expect(r.Summary.WithoutSteps).To(BeZero())
			g.Expect(r.ApplicationSets).To(HaveLen(1), "it is listed, whatever was found")
			g.Expect(r.ApplicationSets[0].size()).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	var in Input
	set := liveSet(t, edited(t, append(byWaves("{{.metadata.labels.wave}}"), lists, "    - clusters: {}\n")...))
	in.AddLive(set)
	in.WithoutApplications("you have no right")
	in.Link()
	r := in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true})
	g.Expect(r.ApplicationSets[0].NotChecked).To(ConsistOf(
		Gap{"clusters", "generator 1 (clusters): which Applications it gives, and their sync waves; stepgate lint -n " +
			"argocd guestbook checks the live ones"},
		Gap{"Applications", "the live Applications: you have no right"},
	))
	root := checked(t, "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"+
		"metadata: {name: root, annotations: {stepgate.io/waves: 'true'}}\n")
	g.Expect(root.Lines(screen.Screen{Width: 80})[0]).To(
		Equal("guestbook.yaml: Application root (by sync waves, 0 known Applications)"))
	g.Expect(waveNames([]string{"0", "1", "2", "3", "4", "5"})).To(Equal("waves 0, 1, 2, 3 and 2 more"))
}

// Applications that are given with the ApplicationSet have the waves.
func TestWavesOfGivenApplications(t *testing.T) {
	g := NewWithT(t)
	text := edited(t, byWaves("0", "stepgate.io/pause: '3'")...)
	const wave = ", annotations: {argocd.argoproj.io/sync-wave: "
	for _, app := range []string{"a", "b" + wave + "'5'}", "c" + wave + "five}"} {
		text += "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + app + "}\n"
	}
	r := checked(t, text)
	g.Expect(r.ApplicationSets[0].Waves).To(Equal([]int{0, 5}))
	g.Expect(findings(t, r)).To(ConsistOf(
		`wave-not-there 8 metadata.annotations["stepgate.io/pause"]: stepgate.io/pause names wave 3, which no Application has: there are waves 0 and 5.`,
		`sync-wave-invalid 22 spec.template.metadata.annotations["argocd.argoproj.io/sync-wave"]: c has the sync wave "five", which is no number: Argo CD counts it as 0.`,
	))
}

// An Application of its own with waves is looked at, beside an ApplicationSet and without one.
func TestWavesOfAnApplication(t *testing.T) {
	const invalid = `waves-invalid 4 metadata.annotations["stepgate.io/waves"]: The annotation stepgate.io/waves is not valid, the stricter reading is used: "on" is neither "true" nor "false".`
	app := func(annotations string) string {
		return "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, annotations: {" +
			annotations + "}}\nspec: {source: {repoURL: x}}\n"
	}
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"waves":                       {app("stepgate.io/waves: 'true', stepgate.io/pause: '20', stepgate.io/max-update: '3'"), nil},
		"neither true nor false":      {app("stepgate.io/waves: 'on'"), []string{invalid}},
		"beside an ApplicationSet":    {app("stepgate.io/waves: 'on'") + "---\n" + good, []string{invalid}},
		"false":                       {app("stepgate.io/waves: 'false'"), nil},
		"an annotation that is not":   {app("stepgate.io/waves: 'true', stepgate.io/pauses: '3'"), []string{`annotation-unknown 4 metadata.annotations["stepgate.io/pauses"]: stepgate has no annotation stepgate.io/pauses.`}},
		"a limit of no waves":         {app("stepgate.io/max-update: '3'"), []string{`annotation-without-effect 4 metadata.annotations["stepgate.io/max-update"]: The annotation stepgate.io/max-update has no effect without stepgate.io/waves: "true".`}},
		"a limit that cannot be read": {app("stepgate.io/waves: 'true', stepgate.io/max-update: x"), []string{`waves-invalid 4 metadata.annotations["stepgate.io/max-update"]: The annotation stepgate.io/max-update is not valid, the stricter reading is used: "x" is no number of Applications: write "3", or a share of the wave such as "25%".`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := findings(t, checked(t, tc.text))
			NewWithT(t).Expect(got).To(ConsistOf(tc.want), "%v", got)
		})
	}
}

// What Argo CD's tracking says of live Applications.
func TestParents(t *testing.T) {
	app := func(namespace, name string, annotations map[string]string, labels map[string]string) *argo.Application {
		return &argo.Application{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: annotations, Labels: labels,
		}}
	}
	of := func(parent, name string, more ...string) *argo.Application {
		a := map[string]string{"argocd.argoproj.io/tracking-id": parent + ":argoproj.io/Application:argocd/" + name}
		for i := 0; i < len(more); i += 2 {
			a[more[i]] = more[i+1]
		}
		return app("argocd", name, a, nil)
	}
	const wave, waves = "argocd.argoproj.io/sync-wave", "stepgate.io/waves"
	at := `metadata.annotations["argocd.argoproj.io/tracking-id"]: `
	root := func(more ...string) *argo.Application {
		a := map[string]string{waves: "true"}
		for i := 0; i < len(more); i += 2 {
			a[more[i]] = more[i+1]
		}
		return app("argocd", "root", a, nil)
	}
	for name, tc := range map[string]struct {
		apps []*argo.Application
		want []string
	}{
		"children": {[]*argo.Application{root(), of("root", "db"), of("root", "api", wave, "20")}, nil},
		"children by the label": {
			[]*argo.Application{
				root(), app("argocd", "db", nil, map[string]string{"app.kubernetes.io/instance": "root"}),
				of("argocd_root", "api", wave, "20"),
			}, nil,
		},
		"children in other namespaces": {
			[]*argo.Application{
				root(), app("team-a", "db", map[string]string{
					"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:team-a/db",
				}, nil), app("team-b", "db", map[string]string{
					"argocd.argoproj.io/tracking-id": "argocd_root:argoproj.io/Application:team-b/db", wave: "3",
				}, nil),
			}, nil,
		},
		"a child in another namespace only": {
			[]*argo.Application{root(), app("team-a", "db", map[string]string{
				"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:team-a/db", wave: "3",
			}, nil)}, []string{
				`one-step 0 metadata.annotations["stepgate.io/waves"]: All Applications are in wave 3, and there is nothing to put in order.`,
			},
		},
		"a wave that is not there, and one that is none": {
			[]*argo.Application{
				root("stepgate.io/pause", "10"), of("root", "db", wave, "-1"), of("root", "api", wave, "late"),
			}, []string{
				`wave-not-there 0 metadata.annotations["stepgate.io/pause"]: stepgate.io/pause names wave 10, which no Application has: there are waves -1 and 0.`,
				`sync-wave-invalid 0 metadata.annotations["stepgate.io/waves"]: api has the sync wave "late", which is no number: Argo CD counts it as 0.`,
			},
		},
		"no children": {
			[]*argo.Application{root()}, []string{`waves-without-children 0 metadata.annotations["stepgate.io/waves"]: It has waves, and no known Application is a part of it.`},
		},
		"no such parent": {
			[]*argo.Application{of("root", "db")},
			[]string{"parent-not-there 0 " + at + "It is a part of Application root, which is not known."},
		},
		"a parent of this name in another namespace": {
			[]*argo.Application{of("team-a_root", "db"), root("stepgate.io/waves", "false")},
			[]string{"parent-not-there 0 " + at + "It is a part of Application team-a_root, which is not known."},
		},
		"two parents": {
			[]*argo.Application{
				root(), app("argocd", "other", map[string]string{waves: "true"}, nil),
				of("root", "db", wave, "3"), of("root", "api"),
				app("argocd", "web", of("root", "web").Annotations, map[string]string{"app.kubernetes.io/instance": "other"}),
				app("argocd", "dns", of("other", "dns").Annotations, map[string]string{"app.kubernetes.io/instance": "other"}),
				app("argocd", "log", of("other", "log", wave, "2").Annotations,
					map[string]string{"app.kubernetes.io/instance": "db"}),
			}, []string{
				"two-parents 0 " + at + "It is a part of root, and its label app.kubernetes.io/instance names other, which has waves: these do not count here.",
			},
		},
		"a label of something else": {[]*argo.Application{app("argocd", "db", nil, map[string]string{"app.kubernetes.io/instance": "postgres"})}, nil},
		"a copy of an annotation":   {[]*argo.Application{app("argocd", "db", of("root", "api").Annotations, nil)}, nil},
		"a part of itself":          {[]*argo.Application{of("root", "root")}, nil},
		"a circle, and one below it": {
			[]*argo.Application{of("b", "a"), of("a", "b"), of("b", "c")}, []string{
				"parent-circle 0 " + at + "It is a part of b, which is a part of a: a circle.",
				"parent-circle 0 " + at + "It is a part of a, which is a part of b: a circle.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var in Input
			in.AddLive(liveSet(t, good))
			for _, a := range append(tc.apps, liveApplication("guestbook-dev", "1", map[string]string{"env": "dev"}),
				liveApplication("guestbook-prod", "1", map[string]string{"env": "prod"})) {
				in.AddLiveApplication(a)
			}
			in.Subjects[0].Set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Step: "1"}}
			in.Link()
			got := findings(t, in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true}))
			NewWithT(t).Expect(got).To(ConsistOf(tc.want), "%v", got)
		})
	}
}

// TestParentsWithoutApplicationSets are looked at like those of any cluster.
func TestParentsWithoutApplicationSets(t *testing.T) {
	g, in := NewWithT(t), Input{}
	in.AddLiveApplication(&argo.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "root", Annotations: map[string]string{"stepgate.io/waves": "true"},
	}})
	in.Link()
	report := in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true})
	g.Expect(findings(t, report)).To(HaveExactElements(HavePrefix("waves-without-children")))
	g.Expect(report.Summary.OtherObjects).To(BeZero(), "it is no news that there are others")
}
