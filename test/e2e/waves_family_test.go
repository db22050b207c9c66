// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/webhook/settings"
)

// waveFamily is a parent Application with its children, and what happens to them.
type waveFamily struct {
	// parent is its name. title, if there is one, stands before what happens.
	parent, title string
	// children are in the order in which they have to go.
	children []child
	// byHand says that nobody but people syncs the children.
	byHand bool
	// attempted says that the application controller syncs children by itself, and heals nothing: it never syncs again what
	// it takes for synced.
	attempted bool
	plays     []wavesPlay
}

// wavesPlay is one thing that happens to a family. The flag -scenarios knows it by its key.
type wavesPlay struct {
	key, title string
	play       func(*wavesPlayed)
}

// child is a child of a parent, and its sync wave.
type child struct {
	name string
	wave int
	// set says that it is an Application of an ApplicationSet, which is the child and has that wave; empty for others.
	set string
	// chart says that it deploys the chart that several share, with values of its own.
	chart bool
	// team says that it is in another namespace than its parent (mode.team).
	team bool
	// repo is the repository of its content; empty is the one of the parent.
	repo string

	// version and health are what git has. removed says that git has it no more, or not yet.
	version, health string
	removed         bool
	// changes are its states after each change, trees the contents in git of each, and touched whether that was new.
	changes []observer.State
	trees   []string
	touched []bool
}

// folder is where its own files are, and path the one that it deploys.
func (c *child) folder() string { return "content/" + c.name }

// namespace is the one that it is in.
func (c *child) namespace(m mode) string {
	if c.team {
		return m.team()
	}
	return string(m)
}

func (c *child) path() string {
	if c.chart {
		return sharedChart
	}
	return c.folder()
}

// sharedChart is the folder of the chart.
const sharedChart = "charts/shared"

// content are its own files.
func (c *child) content() files {
	data := fmt.Sprintf("version: %q\nhealth: %s\n", c.version, c.health)
	if c.chart {
		return files{c.folder() + "/values.yaml": "name: " + c.configMap() + "\n" + data}
	}
	return files{c.folder() + "/configmap.yaml": fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %q\n  health: %s\n", c.configMap(),
		c.version, c.health)}
}

// configMap is the name of what it deploys.
func (c *child) configMap() string { return "waves-" + c.name }

// chartFiles are the chart, of a version.
func chartFiles(version string) files {
	return files{
		sharedChart + "/Chart.yaml": "apiVersion: v2\nname: shared\nversion: 1.0.0\n",
		sharedChart + "/templates/configmap.yaml": fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Values.name }}
data:
  version: {{ .Values.version | quote }}
  health: {{ .Values.health }}
  chart: %q
`, version),
	}
}

// manifestFile is where the parent finds the child.
func (c *child) manifestFile() string { return "apps/" + c.name + ".yaml" }

// manifest is the child as its parent has it in git. One of wave 0 has no annotation.
func (f waveFamily) manifest(m mode, c *child, url string) string {
	wave, values, policy := "", "", "syncPolicy: {automated: {selfHeal: true}}"
	if c.wave != 0 {
		wave = fmt.Sprintf("  annotations: {argocd.argoproj.io/sync-wave: %q}\n", fmt.Sprint(c.wave))
	}
	if c.chart {
		values = fmt.Sprintf(`, helm: {valueFiles: ["/%s/values.yaml"]}`, c.folder())
	}
	switch {
	case f.byHand:
		policy = "syncPolicy: {}"
	case f.attempted:
		policy = "syncPolicy: {automated: {}}"
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %s
  namespace: %s
%sspec:
  project: default
  source: {repoURL: %q, path: %s, targetRevision: %s%s}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  %s
`, c.name, c.namespace(m), wave, url, c.path(), argocd.Main, values, m.destination(), policy)
}

// setName is the name of the ApplicationSet of a child that has one.
func (f waveFamily) setName(c *child) string { return f.parent + "-" + c.set }

// setManifest is the ApplicationSet of children as the parent has it in git. They deploy files of one repository.
func (f waveFamily) setManifest(m mode, generated []*child, url string) string {
	elements := ""
	for _, c := range generated {
		elements += fmt.Sprintf("          - {name: %s, path: %s}\n", c.name, c.path())
	}
	// A foreground deletion would need the garbage collector of kube-controller-manager, which does not run here.
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: %s
  namespace: %s
  annotations: {argocd.argoproj.io/sync-wave: "%d"}
spec:
  goTemplate: true
  generators:
    - list:
        elements:
%s  template:
    metadata: {name: "{{.name}}", finalizers: [resources-finalizer.argocd.argoproj.io/background]}
    spec:
      project: default
      source: {repoURL: %q, path: "{{.path}}", targetRevision: %s}
      destination: {server: "https://kubernetes.default.svc", namespace: %s}
      syncPolicy: {automated: {selfHeal: true}}
`, f.setName(generated[0]), m, generated[0].wave, elements, url, argocd.Main, m.destination())
}

// application is the parent. It deploys the folder of the children's manifests. What it prunes goes in the background,
// for want of a garbage collector.
func (f waveFamily) application(m mode, url string) *argo.Application {
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: string(m), Name: f.parent, Annotations: map[string]string{settings.WavesAnnotation: "true"},
		},
		Spec: argo.ApplicationSpec{
			Project:     "default",
			Source:      &argo.ApplicationSource{RepoURL: url, Path: "apps", TargetRevision: argocd.Main},
			Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: string(m)},
			SyncPolicy: &argo.SyncPolicy{
				Automated:   &argo.SyncPolicyAutomated{Prune: ptr.To(true), SelfHeal: ptr.To(true)},
				SyncOptions: argo.SyncOptions{"PrunePropagationPolicy=background"},
			},
		},
	}
}

// inWaves are children of so many waves, 5 apart, so many in each.
func inWaves(parent string, waves, each int) (all []child) {
	for wave := range waves {
		for i := range each {
			all = append(all, child{name: fmt.Sprintf("%s-%d-%c", parent, wave, 'a'+i), wave: 5 * wave})
		}
	}
	return all
}
