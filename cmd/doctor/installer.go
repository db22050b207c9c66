// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// installer is what put a release into the cluster.
type installer int

// The installers. unknownInstaller has rendered the chart and left no trace of itself.
const (
	unknownInstaller installer = iota
	byArgoCD
	byHelm
	byKustomize
)

// Marks of the installers.
//
//   - Helm itself writes its annotations into every object (helm v4.2.4, pkg/action/validate.go, setMetadataVisitor).
//     Argo CD runs `helm template` (argo-cd v3.5.7, util/helm/cmd.go), which does not.
//   - Argo CD writes its tracking ID into every object, unless it tracks by a label (util/argo/resource_tracking.go).
//     The label is the one of the chart by default, so it says nothing.
//   - The chart always renders app.kubernetes.io/managed-by with the value Helm, whoever renders it. config/ has no such
//     label.
const (
	helmRelease    = "meta.helm.sh/release-name"
	helmNamespace  = "meta.helm.sh/release-namespace"
	trackingID     = "argocd.argoproj.io/tracking-id"
	instanceOfArgo = "argocd.argoproj.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"
)

// metadata are the annotations and labels of the objects of a release that were read.
func (r *Installation) metadata() (annotations, labels map[string]string) {
	annotations, labels = map[string]string{}, map[string]string{}
	for _, w := range r.registrations() {
		maps.Copy(annotations, w.Annotations)
		maps.Copy(labels, w.Labels)
	}
	if d := r.Deployment.Value; d != nil {
		maps.Copy(annotations, d.Annotations)
		maps.Copy(labels, d.Labels)
	}
	return annotations, labels
}

// installer says what has installed a release. A release of Helm that an Application has taken over is Argo CD's: a
// `helm upgrade` would be undone.
func (r *Installation) installer() installer {
	annotations, labels := r.metadata()
	switch {
	case len(r.registrations()) == 0:
		return unknownInstaller
	case r.application() != "":
		return byArgoCD
	case annotations[helmRelease] != "":
		return byHelm
	case labels[managedByLabel] != "Helm":
		return byKustomize
	}
	return unknownInstaller
}

// application is the Application that installs a release, as the argocd command line names it: NAME, or NAMESPACE/NAME.
// It is empty if no Application is known to do so.
func (r *Installation) application() string {
	annotations, labels := r.metadata()
	id, _, _ := strings.Cut(annotations[trackingID], ":")
	name := cmp.Or(id, labels[instanceOfArgo], r.Application)
	return strings.Replace(name, "_", "/", 1) // Argo CD's InstanceName joins both with a _, which a name cannot have
}

// applicationOf looks for the Application of a release that has no mark of any installer. An Argo CD that tracks by
// labels leaves none.
func (s *Sources) applicationOf(ctx context.Context, f *Facts, r *Installation) string {
	if r.installer() != unknownInstaller {
		return ""
	}
	namespaces := append(f.orderedNamespaces(), "argocd", "openshift-gitops")
	slices.Sort(namespaces)
	for _, n := range slices.Compact(namespaces) {
		var app argo.Application
		if err := s.Objects.Get(ctx, client.ObjectKey{Namespace: n, Name: r.helm()}, &app); err != nil {
			continue // then it stays unknown, and both ways are printed
		}
		for _, o := range app.Status.Resources {
			if o.Name == r.Name && o.Kind == r.registrations()[0].Kind {
				return n + "_" + app.Name
			}
		}
	}
	return ""
}

// Commit is what somebody commits where stepgate was installed by Argo CD.
type Commit struct {
	// Into says where.
	Into string `json:"into"`
	// Values are values of the chart, as YAML.
	Values string `json:"values"`
}

// Upgrade is how an installation is changed: what is committed, and which commands are run. Where the installer is not
// known it has both, Argo CD's first.
type Upgrade struct {
	Commits  []Commit
	Commands []string
}

// and is this and another Upgrade.
func (u Upgrade) and(more Upgrade) Upgrade {
	return Upgrade{append(u.Commits, more.Commits...), append(u.Commands, more.Commands...)}
}

// upgrade is how the chart is applied again, with these values beside those that it has. A value is PATH=VALUE as
// helm's --set has it: null removes it, and {a,b} is a list. PATH=@FILE is the content of a file.
func (r *Installation) upgrade(values ...string) Upgrade {
	helm := fmt.Sprintf("helm upgrade %s CHART --namespace %s --reset-then-reuse-values", r.helm(), r.namespace())
	for _, v := range values {
		if path, file, isFile := strings.Cut(v, "=@"); isFile {
			helm += " --set-file " + path + "=" + file
			continue
		}
		helm += " --set " + shellWord(v)
	}
	_, labels := r.metadata()
	switch r.installer() {
	case byArgoCD:
		if labels[managedByLabel] == "Helm" {
			return committed("the values of Application "+r.application(), r.application(), values)
		}
		return Upgrade{Commands: []string{noted("argocd app sync "+r.application(), "after a commit with ", values)}}
	case byHelm:
		return Upgrade{Commands: []string{helm}}
	case byKustomize:
		return Upgrade{Commands: []string{noted("kubectl apply -k CONFIG", "with ", values)}}
	case unknownInstaller:
	}
	u := committed("the values of stepgate's Application, if Argo CD has installed it", "APPLICATION", values)
	u.Commands = append(u.Commands, helm+"  # if Helm has installed it")
	return u
}

// noted is a command with a comment that names values.
func noted(command, comment string, values []string) string {
	if len(values) == 0 {
		return command
	}
	return command + "  # " + comment + strings.Join(values, " and ")
}

// committed is an Upgrade by a commit, or by a sync if there is nothing to be changed.
func committed(into, application string, values []string) Upgrade {
	if len(values) > 0 {
		return Upgrade{Commits: []Commit{{Into: into, Values: valuesOf(values)}}}
	}
	sync := "argocd app sync " + application
	if application == "APPLICATION" {
		sync += "  # if Argo CD has installed it"
	}
	return Upgrade{Commands: []string{sync}}
}

// valuesOf are values of the chart as YAML.
func valuesOf(values []string) string {
	all := map[string]any{}
	for _, v := range values {
		path, text, _ := strings.Cut(v, "=")
		into, keys := all, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			if into[key] == nil {
				into[key] = map[string]any{}
			}
			into, _ = into[key].(map[string]any)
		}
		into[keys[len(keys)-1]] = valueOf(text)
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		return strings.Join(values, "\n") // it cannot happen: they are texts, numbers and lists
	}
	return strings.TrimSpace(string(text))
}

// valueOf is a value as helm's --set has it.
func valueOf(text string) any {
	if file, isFile := strings.CutPrefix(text, "@"); isFile {
		return "the content of " + file
	}
	if inner, isList := strings.CutPrefix(text, "{"); isList {
		return strings.Split(strings.TrimSuffix(inner, "}"), ",")
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	return value
}

// shellWord quotes a value that a shell would expand.
func shellWord(value string) string {
	if strings.ContainsAny(value, "{}*?[]") {
		return "'" + value + "'"
	}
	return value
}
