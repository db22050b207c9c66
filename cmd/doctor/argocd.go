// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/stepgate/stepgate/cmd/screen"
)

// The parts of Argo CD that the checks look at.
const (
	partServer         = "server"
	partController     = "application-controller"
	partApplicationSet = "applicationset-controller"
)

// Part is a Deployment or StatefulSet of Argo CD.
type Part struct {
	Kind, Namespace, Name string
	Template              corev1.PodTemplateSpec
}

// account is the user name of its service account.
func (p *Part) account() string {
	name := p.Template.Spec.ServiceAccountName
	if name == "" {
		name = "default"
	}
	return "system:serviceaccount:" + p.Namespace + ":" + name
}

// ArgoCD is one instance of Argo CD: the parts in one namespace.
type ArgoCD struct {
	Namespace string
	Parts     map[string]*Part
	// ConfigMaps are argocd-cm and argocd-cmd-params-cm. One that does not exist is empty.
	ConfigMaps Read[map[string]map[string]string]
}

// partOf is the part that a workload is, or "". The manifests and argo-helm label it by its component; Argo CD's
// operator labels the ApplicationSet controller by another one.
func partOf(name, component string) string {
	switch {
	case strings.HasSuffix(name, partApplicationSet) || component == partApplicationSet:
		return partApplicationSet
	case strings.HasSuffix(name, partController) || component == partController:
		return partController
	case component == partServer:
		return partServer
	}
	return ""
}

// subject is the instance, for people.
func (a *ArgoCD) subject() string {
	for _, part := range []string{partApplicationSet, partController, partServer} {
		if p := a.Parts[part]; p != nil {
			if v := imageVersion(mainContainer(p)); v != "" {
				return fmt.Sprintf("Argo CD %s, namespace %s", v, a.Namespace)
			}
		}
	}
	return "Argo CD, namespace " + a.Namespace
}

func mainContainer(p *Part) *corev1.Container {
	all := p.Template.Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return strings.Contains(c.Image, "argocd") })
	if i < 0 {
		return containerOf(&p.Template, "")
	}
	return &all[i]
}

// setting finds a setting of a part as the part finds it: the flag, else the environment, which may come from a
// ConfigMap, else "".
func (a *ArgoCD) setting(part, flag, env string) (value string, err error) {
	p := a.Parts[part]
	if p == nil {
		return "", fmt.Errorf("the %s was not found", part)
	}
	c := mainContainer(p)
	words := append(slices.Clone(c.Command), c.Args...)
	for i, word := range words {
		name, text, hasValue := strings.Cut(word, "=")
		switch {
		case name != "--"+flag:
		case hasValue:
			return text, nil
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			return words[i+1], nil
		default:
			return "true", nil
		}
	}
	for _, e := range c.Env {
		if e.Name == env && e.ValueFrom == nil {
			return e.Value, nil
		}
		if e.Name == env && e.ValueFrom.ConfigMapKeyRef != nil {
			from := e.ValueFrom.ConfigMapKeyRef
			return a.ConfigMaps.Value[from.Name][from.Key], a.ConfigMaps.Err
		}
	}
	return "", nil
}

// settings checks the settings of Argo CD that matter to a gate.
func (f *Facts) settings(a *ArgoCD) []Check {
	return []Check{f.progressive(a), f.polling(a), f.grace(a), f.argoNamespaces(a)}
}

const paramsConfigMap = "argocd-cmd-params-cm"

// progressive says whether the ApplicationSet controller runs progressive syncs.
func (f *Facts) progressive(a *ArgoCD) Check {
	const name, key = "progressive syncs", "applicationsetcontroller.enable.progressive.syncs"
	value, err := a.setting(partApplicationSet, "enable-progressive-syncs",
		"ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS")
	if err != nil {
		return notRead(name, "the ApplicationSet controller's setting", err)
	}
	if on, err := strconv.ParseBool(value); err == nil && on {
		if sets := f.unrecorded(a.Namespace); len(sets) > 0 {
			return warning(name, "They are on, but the controller records no step of ApplicationSet %s, which has "+
				"Applications.", list(sets)).
				do("Was the controller restarted after the change? Its log says more.",
					fmt.Sprintf("kubectl -n %s rollout restart deployment %s", a.Namespace, a.Parts[partApplicationSet].Name))
		}
		return ok(name, "The ApplicationSet controller runs them.")
	}
	return warning(name, "They are off: the ApplicationSet controller ignores the steps. stepgate still keeps the "+
		"order of automated syncs.").
		do("Switch them on, or see "+screen.Page("docs/ordered-autosync.md"),
			fmt.Sprintf(`kubectl -n %s patch configmap %s --type merge -p '{"data":{"%s":"true"}}'`, a.Namespace,
				paramsConfigMap, key),
			fmt.Sprintf("kubectl -n %s rollout restart deployment %s", a.Namespace, a.Parts[partApplicationSet].Name))
}

// unrecorded are ApplicationSets of a namespace with Applications and steps whose controller records no step.
func (f *Facts) unrecorded(namespace string) []string {
	var names []string
	for i := range f.ApplicationSets.Value {
		s := &f.ApplicationSets.Value[i]
		if s.Namespace == namespace && isRollingSync(s) && len(s.Status.Resources) > 0 &&
			len(s.Status.ApplicationStatus) == 0 {
			names = append(names, s.Name)
		}
	}
	return names
}

// slowest is the timeout.reconciliation above which a rollout waits longer than people expect.
const slowest = 10 * time.Minute

// polling says how long Argo CD needs to see a commit that nobody tells it of. The default is the one of argo-cd
// v3.5.7, cmd/argocd-application-controller/commands/argocd_application_controller.go.
func (f *Facts) polling(a *ArgoCD) Check {
	const name, key = "polling", "timeout.reconciliation"
	value, err := a.setting(partController, "app-resync", "ARGOCD_RECONCILIATION_TIMEOUT")
	if err != nil {
		return notRead(name, "the application controller's setting", err)
	}
	every := 2 * time.Minute
	if seconds, err := strconv.Atoi(value); err == nil {
		every = time.Duration(seconds) * time.Second
	} else if d, err := time.ParseDuration(value); err == nil {
		every = d
	}
	set := fmt.Sprintf(`kubectl -n %s patch configmap argocd-cm --type merge -p '{"data":{"%s":"120s"}}'`, a.Namespace,
		key)
	restart := fmt.Sprintf("kubectl -n %s rollout restart statefulset %s", a.Namespace, a.partName(partController))
	switch {
	case every == 0:
		return warning(name, "%s is 0: Argo CD sees a commit only if a webhook of Git or a refresh tells it. stepgate "+
			"refreshes only what holds a rollout up.", key).
			do("Let it poll, unless webhooks of Git reach it reliably.", set, restart)
	case every > slowest:
		return warning(name, "%s is %s: without a webhook of Git, Argo CD sees a commit that late.", key,
			duration.HumanDuration(every)).do("Let it poll more often.", set, restart)
	}
	return ok(name, "Argo CD compares every Application after %s at the latest, and some jitter.",
		duration.HumanDuration(every))
}

func (a *ArgoCD) partName(part string) string {
	if p := a.Parts[part]; p != nil {
		return p.Name
	}
	return "argocd-" + part
}

// grace is the refresh barrier of Argo CD 3.6: after a change its ApplicationSet controller waits, and then refreshes
// what has not been compared since, before it starts a step.
func (f *Facts) grace(a *ArgoCD) Check {
	const name, flag, env = "refresh barrier", "refresh-grace-period-seconds", "REFRESH_GRACE_PERIOD_SECONDS"
	p := a.Parts[partApplicationSet]
	if p == nil {
		return skipped(name, "The ApplicationSet controller was not found.")
	}
	version := imageVersion(mainContainer(p))
	newer, known := atLeast(version, 3, 6)
	if !known {
		return unknown(name, "Not checked: the image of the ApplicationSet controller has no version.").do(
			"Argo CD 3.6 and later wait 30 s after each change before they start a step; earlier versions do not.",
		)
	}
	if !newer {
		return skipped(name, "Argo CD %s has none; it has come with 3.6.", version)
	}
	for _, e := range mainContainer(p).Env {
		if strings.HasSuffix(e.Name, env) {
			if value, err := a.setting(partApplicationSet, flag, e.Name); err == nil && value != "" {
				return ok(name, "The ApplicationSet controller waits %s s after a change before it starts a step.", value)
			}
		}
	}
	value, err := a.setting(partApplicationSet, flag, "")
	if err != nil || value == "" {
		value = "30"
	}
	return ok(name, "The ApplicationSet controller waits %s s after a change before it starts a step.", value)
}

// atLeast compares a version like v3.6.1 with MAJOR.MINOR.
func atLeast(version string, major, minor int) (is, known bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false, false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(strings.TrimRight(strings.SplitN(parts[1], "-", 2)[0], "+"))
	if errA != nil || errB != nil {
		return false, false
	}
	return a > major || a == major && b >= minor, true
}

// argoNamespaces compares the namespaces in which Argo CD takes ApplicationSets with those that are gated.
func (f *Facts) argoNamespaces(a *ArgoCD) Check {
	const name = "namespaces"
	value, err := a.setting(partApplicationSet, "applicationset-namespaces", "ARGOCD_APPLICATIONSET_CONTROLLER_NAMESPACES")
	if err != nil {
		return notRead(name, "the ApplicationSet controller's namespaces", err)
	}
	all := []string{a.Namespace}
	for text := range strings.SplitSeq(value, ",") {
		if text = strings.TrimSpace(text); text != "" && text != a.Namespace {
			all = append(all, text)
		}
	}
	if len(f.Installations) == 0 {
		return ok(name, "ApplicationSets of %s.", list(all))
	}
	var open []string
	for _, n := range all {
		if !slices.ContainsFunc(f.Installations, func(r *Installation) bool {
			return r.Flags == nil || r.Flags.Gated(n) || slices.Contains(r.Flags.Namespaces, n)
		}) {
			open = append(open, n)
		}
	}
	if len(open) > 0 {
		r := f.Installations[0]
		return warning(name, "Argo CD takes ApplicationSets of %s, which no release of stepgate gates.", list(open)).
			do("Gate them as well, unless none of them needs an order.").
			by(r.upgrade(fmt.Sprintf("argocd.applicationNamespaces={%s}",
				strings.Join(append(slices.Clone(r.watchedOrNone()), open...), ","))))
	}
	return ok(name, "It takes ApplicationSets of %s; they are gated.", list(all))
}

func (r *Installation) watchedOrNone() []string {
	if r.Flags == nil {
		return nil
	}
	return r.Flags.Namespaces
}
